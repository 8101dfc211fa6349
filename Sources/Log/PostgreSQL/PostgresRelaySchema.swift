/// The step of the schema by which apps send to themselves in other partitions (``LogRelay``): rows of the other one's
/// outbox, which name the app.
enum PostgresRelaySchema {
  /// `relay` is called in the statement that appends (``PostgresCall``), so that the fence in `append` is its fence too.
  ///
  /// A row gets its position from the trigger of the outbox in which it is, at the commit: triggers that wait for it are
  /// called in the order of the insertions. A backend's row never has an app: `publish` does not name the column.
  ///
  /// Where the other partition's broker was not upgraded yet, its outbox has no such column. Then the transaction fails in
  /// a way that passes (``PostgresFault``).
  static let all = """
    ALTER TABLE outbox ADD COLUMN app text; -- null: a backend's row
    ALTER TABLE outbox_refused ADD COLUMN app text;
    CREATE FUNCTION relay(schemas text[], apps text[], bodies bytea[]) RETURNS void LANGUAGE plpgsql AS $$
    BEGIN
      FOR place IN 1 .. cardinality(schemas) LOOP
        EXECUTE format(
          'INSERT INTO %I.outbox (channel, data, options, app) VALUES ('''', $1, ''{}'', $2)', schemas[place])
        USING bodies[place], apps[place];
      END LOOP;
    END $$;
    CREATE OR REPLACE FUNCTION end_outbox(
      my_epoch bigint, my_seq bigint, life bigint, published bigint[], refused bigint[], codes bigint[], reasons text[]
    ) RETURNS void LANGUAGE plpgsql AS $$
    BEGIN
      PERFORM fence(my_epoch, my_seq, life);
      DELETE FROM outbox WHERE id = ANY (published);
      IF cardinality(refused) > 0 THEN
        WITH ended AS (
          DELETE FROM outbox AS o USING unnest(refused, codes, reasons) AS r (id, code, reason) WHERE o.id = r.id
          RETURNING o.id, o.channel, o.data, o.options, o.publisher, r.code, r.reason, o.app
        )
        INSERT INTO outbox_refused (id, channel, data, options, publisher, code, reason, app) SELECT * FROM ended
        ON CONFLICT DO NOTHING;
        DELETE FROM outbox_refused WHERE id <= (
          SELECT id FROM outbox_refused ORDER BY id DESC OFFSET \(PostgresOutboxSchema.mostRefused) LIMIT 1);
      END IF;
    END $$;
    """
}
