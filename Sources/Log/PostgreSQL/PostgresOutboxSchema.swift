/// The outbox in the log's schema: what backends call in a transaction of their own, and how its rows end.
enum PostgresOutboxSchema {
  static let all = [tables, publishing, ending].joined(separator: "\n")

  /// Rows that were put aside are kept, this many.
  static let mostRefused = 10_000

  /// `position` is drawn when the transaction is about to be committed, by a trigger that is deferred until then: who has
  /// waited for a lock of another transaction comes behind it, whoever called `publish` first.
  private static let tables = """
    CREATE SEQUENCE outbox_position;
    CREATE TABLE outbox (
      id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      tx xid8 NOT NULL DEFAULT pg_current_xact_id(),
      position bigint, -- null until the commit
      channel text NOT NULL,
      data bytea,
      options jsonb NOT NULL,
      publisher text NOT NULL DEFAULT session_user
    ) WITH (fillfactor = 60, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
    CREATE INDEX outbox_tx ON outbox (tx);

    -- What was refused, with the reason: nobody waits for an answer.
    CREATE TABLE outbox_refused (
      id bigint PRIMARY KEY,
      channel text NOT NULL,
      data bytea,
      options jsonb NOT NULL,
      publisher text NOT NULL,
      code bigint NOT NULL,
      reason text NOT NULL,
      refused timestamptz NOT NULL DEFAULT clock_timestamp()
    );
    """

  /// The functions run with the rights of the schema's owner, so that a backend needs none on the tables. `pg_temp` comes
  /// last in the path that they keep: else a caller's temporary table could stand for one of ours.
  private static let publishing = """
    SELECT set_config('search_path', current_setting('search_path') || ', pg_temp', true);
    \(publishBytes(
      inserting: """
        INSERT INTO outbox (channel, data, options)
        VALUES (publish_bytes.channel, publish_bytes.data, publish_bytes.options) RETURNING id INTO its_id;
        """))
    CREATE FUNCTION publish(channel text, data jsonb, options jsonb DEFAULT '{}') RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
    BEGIN
      RETURN publish_bytes(channel, convert_to(data::text, 'UTF8'), options);
    END $$;
    CREATE FUNCTION outbox_committed() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
    BEGIN
      UPDATE outbox SET position = nextval('outbox_position') WHERE id = NEW.id;
      RETURN NULL;
    END $$;
    CREATE CONSTRAINT TRIGGER outbox_committed AFTER INSERT ON outbox DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION outbox_committed();
    REVOKE ALL ON FUNCTION publish, publish_bytes, outbox_committed FROM PUBLIC;
    """

  /// - Parameter insertion: puts the row into an outbox, and its id into `its_id`.
  static func publishBytes(inserting insertion: String) -> String {
    """
    CREATE OR REPLACE FUNCTION publish_bytes(channel text, data bytea, options jsonb DEFAULT '{}') RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
    DECLARE
      its_id bigint;
      unknown text;
    BEGIN
      IF channel IS NULL OR octet_length(channel) NOT BETWEEN 1 AND 255 THEN
        RAISE EXCEPTION 'the channel must have 1 to 255 bytes' USING ERRCODE = 'invalid_parameter_value';
      END IF;
      IF options IS NULL OR jsonb_typeof(options) <> 'object' THEN
        RAISE EXCEPTION 'the options must be a JSON object' USING ERRCODE = 'invalid_parameter_value',
          HINT = 'Leave them out, or give for example {"idempotency_key": "order-17"}.';
      END IF;
      SELECT key INTO unknown FROM jsonb_object_keys(options) AS key
      WHERE key NOT IN ('tags', 'idempotency_key', 'key', 'removed', 'score') LIMIT 1;
      IF unknown IS NOT NULL THEN
        RAISE EXCEPTION 'there is no option "%"', unknown USING ERRCODE = 'invalid_parameter_value',
          HINT = 'There are tags, idempotency_key, key, removed and score.';
      END IF;
      IF data IS NULL AND options -> 'removed' IS DISTINCT FROM 'true' THEN
        RAISE EXCEPTION 'the data is missing' USING ERRCODE = 'null_value_not_allowed',
          HINT = 'Only where the key of a map is removed there is none.';
      END IF;
      \(insertion)
      RETURN its_id;
    END $$;
    """
  }

  /// Rows that no entry of the log takes along: they were published without one, or are put aside.
  private static let ending = """
    CREATE FUNCTION end_outbox(
      my_epoch bigint, my_seq bigint, life bigint, published bigint[], refused bigint[], codes bigint[], reasons text[]
    ) RETURNS void LANGUAGE plpgsql AS $$
    BEGIN
      PERFORM fence(my_epoch, my_seq, life);
      DELETE FROM outbox WHERE id = ANY (published);
      IF cardinality(refused) > 0 THEN
        WITH ended AS (
          DELETE FROM outbox AS o USING unnest(refused, codes, reasons) AS r (id, code, reason) WHERE o.id = r.id
          RETURNING o.id, o.channel, o.data, o.options, o.publisher, r.code, r.reason
        )
        INSERT INTO outbox_refused (id, channel, data, options, publisher, code, reason) SELECT * FROM ended
        ON CONFLICT DO NOTHING;
        DELETE FROM outbox_refused WHERE id <= (
          SELECT id FROM outbox_refused ORDER BY id DESC OFFSET \(mostRefused) LIMIT 1);
      END IF;
    END $$;
    """
}
