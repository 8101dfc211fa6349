/// The table of wrapped keys, and the function by which the owner of the log changes it (``PostgresKeys``).
enum PostgresKeysSchema {
  /// A box is ciphertext, which no compression makes smaller. A former one is freed by the next vacuum, which is not to wait
  /// until fifty of them are there; nothing is overwritten by that (docs/POSTGRESQL.md).
  static let all = """
    CREATE TABLE keys (
      name text PRIMARY KEY,
      version bigint NOT NULL, -- rises by one with each change
      changed timestamptz NOT NULL,
      box bytea NOT NULL -- a set of keys, encrypted under a master key that is not in the database
    ) WITH (
      autovacuum_vacuum_threshold = 0, autovacuum_vacuum_scale_factor = 0,
      toast.autovacuum_vacuum_threshold = 0, toast.autovacuum_vacuum_scale_factor = 0
    );
    ALTER TABLE keys ALTER COLUMN box SET STORAGE EXTERNAL;

    CREATE FUNCTION replace_keys(
      my_epoch bigint, my_seq bigint, life bigint, its_name text, its_version bigint, its_box bytea
    ) RETURNS void LANGUAGE plpgsql AS $$
    BEGIN
      PERFORM fence(my_epoch, my_seq, life);
      IF its_version = 1 THEN
        INSERT INTO keys (name, version, changed, box) VALUES (its_name, 1, clock_timestamp(), its_box)
        ON CONFLICT (name) DO NOTHING;
      ELSE
        UPDATE keys SET version = its_version, changed = clock_timestamp(), box = its_box
        WHERE name = its_name AND version = its_version - 1;
      END IF;
      IF NOT FOUND THEN
        RAISE EXCEPTION 'the keys % were changed by somebody else', its_name USING ERRCODE = '22FF3';
      END IF;
    END $$;
    """
}
