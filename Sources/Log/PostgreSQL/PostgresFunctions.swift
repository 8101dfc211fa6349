import PostgreSQL

/// The functions through which the owner writes. Each begins with the fence: epoch and sequence are checked and the
/// sequence is raised in the same statement, so that neither a former owner nor a transaction that was sent behind one
/// that failed can commit.
enum PostgresFunctions {
  static let all = [fence, append, trim, sweep, remove, erase, quotas].joined(separator: "\n")

  /// The error of a transaction whose epoch or sequence is not the lease's.
  static let fenced = "FF001"

  /// The state of the warning with which the fence tells the owner that it is to hand the log over.
  static let handOver = SQLState("FF002")

  /// The fence, since an operator can ask the owner to hand the log over (``ClusterDrain``): it says so with each
  /// transaction, which asks for nothing more than the row that it changes anyway.
  static let fenceWithDrain = """
    ALTER TABLE shards ADD COLUMN drain bigint NOT NULL DEFAULT 0; -- the lease whose owner is to hand the log over
    CREATE OR REPLACE FUNCTION fence(my_epoch bigint, my_seq bigint, life bigint) RETURNS void LANGUAGE plpgsql AS $$
    DECLARE
      drained bigint;
    BEGIN
      UPDATE shards SET seq = seq + 1, expires = clock_timestamp() + life * interval '1 millisecond'
      WHERE shard = 0 AND epoch = my_epoch AND seq = my_seq RETURNING drain INTO drained;
      IF NOT FOUND THEN
        RAISE EXCEPTION 'another broker keeps the log' USING ERRCODE = '\(fenced)';
      END IF;
      IF drained = my_epoch THEN
        RAISE WARNING 'the log is to be handed over' USING ERRCODE = '\(handOver.code)';
      END IF;
    END $$;
    """

  private static let fence = """
    CREATE FUNCTION fence(my_epoch bigint, my_seq bigint, life bigint) RETURNS void LANGUAGE plpgsql AS $$
    BEGIN
      UPDATE shards SET seq = seq + 1, expires = clock_timestamp() + life * interval '1 millisecond'
      WHERE shard = 0 AND epoch = my_epoch AND seq = my_seq;
      IF NOT FOUND THEN
        RAISE EXCEPTION 'another broker keeps the log' USING ERRCODE = '\(fenced)';
      END IF;
    END $$;
    CREATE FUNCTION release(my_epoch bigint, my_seq bigint, life bigint, is_clean boolean)
    RETURNS void LANGUAGE plpgsql AS $$
    BEGIN
      PERFORM fence(my_epoch, my_seq, life);
      UPDATE shards SET expires = clock_timestamp(), owner = '' WHERE shard = 0;
      IF is_clean THEN UPDATE meta SET value = '1' WHERE key = 'clean'; END IF;
    END $$;
    """

  /// Rows of the outbox that are published with it go in the same transaction: each is published exactly once.
  ///
  /// Channels come as arrays, one place each; publications, keys, origins, entries and edits name their channel by its
  /// place, which counts from 1. No two of the same kind change the same row: whoever calls leaves the last one alone.
  static let append = """
    CREATE FUNCTION append(
      my_epoch bigint, my_seq bigint, life bigint, since bigint,
      c_new boolean[], c_renewed boolean[], c_bucket bigint[], c_name bytea[], c_epoch text[], c_top bigint[],
      c_floor bigint[], c_durability text[], c_ttl bigint[], c_expires bigint[], c_used bigint[],
      c_namespace bytea[], c_owner bytea[],
      p_channel bigint[], p_off bigint[], p_time bigint[], p_gateway bigint[], p_request bigint[], p_data bytea[],
      p_info bytea[], p_tags bytea[], p_change bytea[],
      k_channel bigint[], k_key bytea[], k_off bigint[], k_digest bigint[], k_expires bigint[],
      o_channel bigint[], o_gateway bigint[], o_request bigint[], o_off bigint[], o_time bigint[],
      e_channel bigint[], e_removed boolean[], e_key bytea[], e_off bigint[], e_time bigint[], e_score bigint[],
      e_expires bigint[], e_data bytea[], e_info bytea[], e_tags bytea[],
      x_channel bigint[], x_off bigint[], x_erases boolean[], x_data bytea[], x_tags bytea[],
      q_row bigint[]
    ) RETURNS void LANGUAGE plpgsql AS $$
    #variable_conflict use_column
    DECLARE
      ids bigint[];
      counted bigint[];
      deleted bigint;
    BEGIN
      PERFORM fence(my_epoch, my_seq, life);
      WITH given AS (
        SELECT * FROM unnest(c_new, c_renewed, c_bucket, c_name, c_epoch, c_top, c_floor, c_durability, c_ttl,
          c_expires, c_used, c_namespace, c_owner) WITH ORDINALITY AS g (is_new, renewed, bucket, name, epoch, top,
          floor, durability, ttl, expires, used, namespace, owner, place)
      ), added AS (
        INSERT INTO channels AS c (shard, bucket, name, epoch, top, floor, durability, history_ttl, expires, used,
          quota_namespace, quota_owner)
        SELECT bucket / 16, bucket, name, epoch, top, floor, durability, ttl, expires, used, namespace, owner
        FROM given WHERE is_new
        ON CONFLICT (name) DO UPDATE SET epoch = excluded.epoch, top = excluded.top,
          floor = greatest(c.floor, excluded.floor), durability = excluded.durability,
          history_ttl = excluded.history_ttl, expires = excluded.expires, used = excluded.used
        RETURNING c.id, c.name
      ), updated AS (
        UPDATE channels AS c SET top = g.top, floor = greatest(c.floor, g.floor), history_ttl = g.ttl,
          expires = least(c.expires, g.expires), used = greatest(c.used, g.used),
          epoch = CASE WHEN g.renewed THEN g.epoch ELSE c.epoch END,
          durability = CASE WHEN g.renewed THEN g.durability ELSE c.durability END
        FROM given AS g WHERE NOT g.is_new AND c.name = g.name
        RETURNING c.id, c.name
      ), written AS (SELECT * FROM added UNION ALL SELECT * FROM updated)
      SELECT array_agg(w.id ORDER BY g.place) INTO ids FROM given AS g LEFT JOIN written AS w ON w.name = g.name;
      IF cardinality(p_off) > 0 THEN
        INSERT INTO publications (channel, off, time, gateway, request, shard, data, info, tags, change)
        SELECT ids[channel], off, time, gateway, request, c_bucket[channel] / 16, data, info, tags, change
        FROM unnest(p_channel, p_off, p_time, p_gateway, p_request, p_data, p_info, p_tags, p_change)
          AS p (channel, off, time, gateway, request, data, info, tags, change);
      END IF;
      IF cardinality(k_off) > 0 THEN
        INSERT INTO idempotency (channel, key, off, digest, expires, shard)
        SELECT ids[channel], key, off, digest, expires, c_bucket[channel] / 16
        FROM unnest(k_channel, k_key, k_off, k_digest, k_expires) AS k (channel, key, off, digest, expires)
        ON CONFLICT (channel, key) DO UPDATE SET off = excluded.off, digest = excluded.digest,
          expires = excluded.expires;
      END IF;
      IF cardinality(o_off) > 0 THEN
        INSERT INTO origins (channel, gateway, request, off, time, shard)
        SELECT ids[channel], gateway, request, off, time, c_bucket[channel] / 16
        FROM unnest(o_channel, o_gateway, o_request, o_off, o_time) AS o (channel, gateway, request, off, time)
        ON CONFLICT (channel, gateway, request) DO UPDATE SET off = excluded.off, time = excluded.time;
      END IF;
      IF cardinality(e_off) > 0 THEN
        IF true = ANY (e_removed) THEN
          DELETE FROM entries AS e USING unnest(e_channel, e_removed, e_key) AS g (channel, removed, key)
          WHERE g.removed AND e.channel = ids[g.channel] AND e.key = g.key;
        END IF;
        INSERT INTO entries (channel, key, off, time, score, expires, shard, data, info, tags)
        SELECT ids[channel], key, off, time, score, expires, c_bucket[channel] / 16, data, info, tags
        FROM unnest(e_channel, e_removed, e_key, e_off, e_time, e_score, e_expires, e_data, e_info, e_tags)
          AS e (channel, removed, key, off, time, score, expires, data, info, tags)
        WHERE NOT removed
        ON CONFLICT (channel, key) DO UPDATE SET off = excluded.off, time = excluded.time, score = excluded.score,
          expires = excluded.expires, data = excluded.data, info = excluded.info, tags = excluded.tags;
      END IF;
      IF cardinality(x_off) > 0 THEN
        UPDATE publications AS p SET data = x.data, tags = x.tags,
          info = CASE WHEN x.erases THEN NULL ELSE p.info END
        FROM unnest(x_channel, x_off, x_erases, x_data, x_tags) AS x (channel, off, erases, data, tags)
        WHERE p.channel = ids[x.channel] AND p.off = x.off
          AND p.off > (SELECT floor FROM channels WHERE id = ids[x.channel]);
        IF true = ANY (x_erases) THEN
          DELETE FROM idempotency AS i USING unnest(x_channel, x_off, x_erases) AS x (channel, off, erases)
          WHERE x.erases AND i.channel = ids[x.channel] AND i.off = x.off;
        END IF;
      END IF;
      IF cardinality(q_row) > 0 THEN
        DELETE FROM outbox WHERE id = ANY (q_row);
        GET DIAGNOSTICS deleted = ROW_COUNT;
        IF deleted <> cardinality(q_row) THEN
          RAISE EXCEPTION 'a row of the outbox is gone, so that it may be published already' USING ERRCODE = '22FF2';
        END IF;
      END IF;
      -- Where a quota counts what is kept, what a publication pushes out must not count any more.
      SELECT array_agg(id) INTO counted FROM channels
      WHERE id = ANY (ids) AND quota_namespace IS NOT NULL AND floor > trimmed;
      IF counted IS NOT NULL THEN PERFORM trim_history(counted, since, 1000000000); END IF;
    END $$;
    """

  /// Deletes what stands below the floors of channels, and keeps the origins of what is younger than `since`, without
  /// which a retry after a crash would publish it twice.
  private static let trim = """
    CREATE FUNCTION trim_history(ids bigint[], since bigint, budget bigint) RETURNS bigint LANGUAGE plpgsql AS $$
    DECLARE
      c record;
      first bigint;
      cut bigint;
      count bigint;
      rest bigint := budget;
    BEGIN
      FOR c IN SELECT id, floor FROM channels WHERE id = ANY (ids) AND floor > trimmed LOOP
        EXIT WHEN rest <= 0;
        SELECT off INTO first FROM publications WHERE channel = c.id ORDER BY off LIMIT 1;
        cut := least(c.floor, coalesce(first + rest, c.floor));
        INSERT INTO origins (channel, gateway, request, off, time, shard)
        SELECT channel, gateway, request, off, time, shard FROM publications
        WHERE channel = c.id AND off <= cut AND gateway IS NOT NULL AND time >= since
        ON CONFLICT (channel, gateway, request) DO UPDATE SET off = excluded.off, time = excluded.time;
        DELETE FROM publications WHERE channel = c.id AND off <= cut;
        GET DIAGNOSTICS count = ROW_COUNT;
        UPDATE channels SET trimmed = cut WHERE id = c.id;
        rest := rest - count;
      END LOOP;
      RETURN budget - rest;
    END $$;
    """

  /// Raises floors over what is too old, and deletes a portion of what is not kept: of channels whose publications
  /// expired, and of those with a row after `after`, since an index of what is to be trimmed would be written with each
  /// publication.
  private static let sweep = """
    CREATE FUNCTION sweep(
      my_epoch bigint, my_seq bigint, life bigint, now bigint, since bigint, after bigint, rows bigint, budget bigint
    ) RETURNS TABLE (next bigint, more boolean) LANGUAGE plpgsql AS $$
    #variable_conflict use_column
    DECLARE
      c record;
      kept record;
      oldest bigint;
      looked bigint[];
      risen bigint[];
      aged bigint := 0;
      count bigint;
      rest bigint := budget;
    BEGIN
      PERFORM fence(my_epoch, my_seq, life);
      FOR c IN SELECT id, history_ttl, top, floor FROM channels WHERE expires < now ORDER BY expires LIMIT 256 LOOP
        aged := aged + 1;
        -- Only a prefix goes: after a clock that stepped back, an old time in the middle must not leave a hole.
        oldest := greatest(now::numeric - c.history_ttl, -9223372036854775808)::bigint;
        SELECT off, time INTO kept FROM publications
        WHERE channel = c.id AND off > c.floor AND time >= oldest ORDER BY off LIMIT 1;
        IF FOUND THEN
          UPDATE channels SET floor = greatest(floor, kept.off - 1),
            expires = least(kept.time::numeric + c.history_ttl, 9223372036854775807)::bigint
          WHERE id = c.id;
        ELSE
          UPDATE channels SET floor = top, expires = NULL WHERE id = c.id;
        END IF;
        risen := risen || c.id;
      END LOOP;
      SELECT array_agg(id ORDER BY id) INTO looked
      FROM (SELECT id FROM channels WHERE id > after ORDER BY id LIMIT rows) AS slice;
      next := CASE WHEN cardinality(looked) >= rows THEN looked[cardinality(looked)] ELSE 0 END;
      rest := rest - trim_history(risen || looked, since, rest);
      IF rest <= 0 THEN next := after; END IF;
      DELETE FROM idempotency WHERE ctid = ANY (ARRAY(
        SELECT ctid FROM idempotency WHERE expires <= now ORDER BY expires LIMIT greatest(rest, 0)));
      GET DIAGNOSTICS count = ROW_COUNT;
      rest := rest - count;
      DELETE FROM origins WHERE ctid = ANY (ARRAY(
        SELECT ctid FROM origins WHERE time < since ORDER BY time LIMIT greatest(rest, 0)));
      GET DIAGNOSTICS count = ROW_COUNT;
      more := rest - count <= 0 OR aged >= 256;
      RETURN NEXT;
    END $$;
    """

  private static let remove = """
    CREATE FUNCTION remove_history(my_epoch bigint, my_seq bigint, life bigint, its_name bytea, through bigint)
    RETURNS void LANGUAGE plpgsql AS $$
    DECLARE
      its_id bigint;
      newest bigint;
    BEGIN
      PERFORM fence(my_epoch, my_seq, life);
      UPDATE channels SET floor = greatest(floor, least(through, top)) WHERE name = its_name RETURNING id INTO its_id;
      SELECT time INTO newest FROM publications WHERE channel = its_id ORDER BY off DESC LIMIT 1;
      -- A portion; sweeps delete the rest, which nobody reads below the floor.
      PERFORM trim_history(ARRAY[its_id], coalesce(newest - 60000, 0), 100000);
    END $$;
    CREATE FUNCTION delete_channels(my_epoch bigint, my_seq bigint, life bigint, ids bigint[])
    RETURNS void LANGUAGE plpgsql AS $$
    BEGIN
      PERFORM fence(my_epoch, my_seq, life);
      DELETE FROM channels AS c WHERE id = ANY (ids)
        AND NOT EXISTS (SELECT 1 FROM publications WHERE channel = c.id)
        AND NOT EXISTS (SELECT 1 FROM entries WHERE channel = c.id)
        AND NOT EXISTS (SELECT 1 FROM idempotency WHERE channel = c.id)
        AND NOT EXISTS (SELECT 1 FROM origins WHERE channel = c.id);
    END $$;
    CREATE FUNCTION channel_deleted() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      INSERT INTO generations AS g VALUES (OLD.bucket, 1)
      ON CONFLICT (bucket) DO UPDATE SET generation = g.generation + 1;
      RETURN NULL;
    END $$;
    CREATE TRIGGER channel_deleted AFTER DELETE ON channels FOR EACH ROW EXECUTE FUNCTION channel_deleted();
    """

  private static let erase = """
    CREATE FUNCTION drop_channels(my_epoch bigint, my_seq bigint, life bigint, names bytea[])
    RETURNS void LANGUAGE plpgsql AS $$
    DECLARE
      ids bigint[];
    BEGIN
      PERFORM fence(my_epoch, my_seq, life);
      SELECT array_agg(id) INTO ids FROM channels WHERE name = ANY (names);
      DELETE FROM publications WHERE channel = ANY (ids);
      DELETE FROM entries WHERE channel = ANY (ids);
      DELETE FROM idempotency WHERE channel = ANY (ids);
      DELETE FROM origins WHERE channel = ANY (ids);
      DELETE FROM channels WHERE id = ANY (ids);
    END $$;
    -- A row has a key where it is an entry of a map, and an offset where it is a publication.
    CREATE FUNCTION clear_rows(
      my_epoch bigint, my_seq bigint, life bigint, names bytea[], keys bytea[], offs bigint[], emptied bytea
    ) RETURNS void LANGUAGE plpgsql AS $$
    BEGIN
      PERFORM fence(my_epoch, my_seq, life);
      DELETE FROM entries AS e USING unnest(names, keys) AS g (name, key) JOIN channels AS c ON c.name = g.name
      WHERE g.key IS NOT NULL AND e.channel = c.id AND e.key = g.key;
      UPDATE publications AS p SET data = emptied, tags = NULL, change = NULL, info = NULL
      FROM unnest(names, keys, offs) AS g (name, key, off) JOIN channels AS c ON c.name = g.name
      WHERE g.key IS NULL AND p.channel = c.id AND p.off = g.off;
      DELETE FROM idempotency AS i
      USING unnest(names, keys, offs) AS g (name, key, off) JOIN channels AS c ON c.name = g.name
      WHERE g.key IS NULL AND i.channel = c.id AND i.off = g.off;
    END $$;
    CREATE FUNCTION forget_accounts(my_epoch bigint, my_seq bigint, life bigint, users bytea[])
    RETURNS void LANGUAGE plpgsql AS $$
    BEGIN
      PERFORM fence(my_epoch, my_seq, life);
      INSERT INTO changed SELECT namespace, payer FROM kept WHERE payer = ANY (users) ON CONFLICT DO NOTHING;
      DELETE FROM kept WHERE payer = ANY (users);
      -- A key is the publisher's own text. Short ids stand in many keys of others, which go within minutes anyway.
      DELETE FROM idempotency AS i USING unnest(users) AS u (id)
      WHERE length(u.id) >= 8 AND position(u.id IN i.key) > 0;
    END $$;
    """

  /// Accounts follow from the rows, whatever changes them. The triggers are on only where a namespace has a quota.
  private static let quotas = """
    CREATE FUNCTION sender(info bytea) RETURNS bytea LANGUAGE sql IMMUTABLE AS $$
      SELECT CASE WHEN length(info) >= 4 THEN substring(info FROM 5 FOR greatest(
        get_byte(info, 0) + get_byte(info, 1) * 256 + get_byte(info, 2) * 65536 + get_byte(info, 3) * 16777216 - 1,
        0)) END
    $$;
    CREATE FUNCTION count_publications() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      IF TG_OP <> 'INSERT' THEN \(tally("old_rows", sign: "-", publicationAmount, "r.change IS NULL")) END IF;
      IF TG_OP <> 'DELETE' THEN \(tally("new_rows", sign: "+", publicationAmount, "r.change IS NULL")) END IF;
      RETURN NULL;
    END $$;
    CREATE FUNCTION count_entries() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      IF TG_OP <> 'INSERT' THEN \(tally("old_rows", sign: "-", entryAmount, "true")) END IF;
      IF TG_OP <> 'DELETE' THEN \(tally("new_rows", sign: "+", entryAmount, "true")) END IF;
      RETURN NULL;
    END $$;
    \(triggers(on: "publications"))
    \(triggers(on: "entries"))
    CREATE FUNCTION tell_changed() RETURNS TABLE (namespace bytea, payer bytea, bytes bigint, entries bigint)
    LANGUAGE plpgsql AS $$
    #variable_conflict use_column
    DECLARE
      namespaces bytea[];
      payers bytea[];
    BEGIN
      SELECT array_agg(namespace), array_agg(payer) INTO namespaces, payers FROM changed;
      IF namespaces IS NULL THEN RETURN; END IF;
      DELETE FROM changed;
      RETURN QUERY SELECT g.namespace, g.payer, coalesce(k.bytes, 0), coalesce(k.entries, 0)
        FROM unnest(namespaces, payers) AS g (namespace, payer)
        LEFT JOIN kept AS k ON k.namespace = g.namespace AND k.payer = g.payer;
      DELETE FROM kept AS k USING unnest(namespaces, payers) AS g (namespace, payer)
      WHERE k.namespace = g.namespace AND k.payer = g.payer AND k.bytes = 0 AND k.entries = 0;
    END $$;
    -- Counts all that stands in a namespace which has just got a quota.
    CREATE FUNCTION count_namespace(its_name bytea) RETURNS void LANGUAGE plpgsql AS $$
    BEGIN
      DELETE FROM kept WHERE namespace = its_name;
      \(tally(
        "(SELECT p.* FROM publications AS p JOIN channels AS n ON n.id = p.channel WHERE n.quota_namespace = its_name)",
        sign: "+", publicationAmount, "r.change IS NULL"))
      \(tally(
        "(SELECT e.* FROM entries AS e JOIN channels AS n ON n.id = e.channel WHERE n.quota_namespace = its_name)",
        sign: "+", entryAmount, "true"))
    END $$;
    """

  private static let sizes =
    "length(r.data) + coalesce(length(r.info), 0) + coalesce(length(r.tags), 0)"
  /// As ``KeptAmount/init(ofHistory:info:tags:change:)`` counts; the removal is the byte before a change's two numbers.
  private static let publicationAmount = """
    CASE WHEN get_byte(r.change, length(r.change) - 17) = 1 THEN \(KeptAmount.removal)
      ELSE \(KeptAmount.overhead) + \(sizes) + coalesce(length(r.change), 0) END
    """
  /// As ``KeptAmount/init(ofEntry:info:tags:key:)`` counts.
  private static let entryAmount = "\(KeptAmount.overhead + 21) + \(sizes) + length(r.key)"

  private static func tally(_ rows: String, sign: String, _ amount: String, _ isEntry: String) -> String {
    """
    WITH sums AS (
        SELECT c.quota_namespace AS namespace, coalesce(c.quota_owner, sender(r.info)) AS payer,
          \(sign) sum(\(amount))::bigint AS bytes, \(sign) count(*) FILTER (WHERE \(isEntry)) AS entries
        FROM \(rows) AS r JOIN channels AS c ON c.id = r.channel
        WHERE c.quota_namespace IS NOT NULL AND coalesce(c.quota_owner, sender(r.info)) IS NOT NULL
        GROUP BY 1, 2
      ), noted AS (INSERT INTO changed SELECT namespace, payer FROM sums ON CONFLICT DO NOTHING)
      INSERT INTO kept AS k SELECT * FROM sums
      ON CONFLICT (namespace, payer) DO UPDATE SET bytes = k.bytes + excluded.bytes,
        entries = k.entries + excluded.entries;
    """
  }

  private static func triggers(on table: String) -> String {
    let events = [
      ("insert", "NEW TABLE AS new_rows"), ("update", "OLD TABLE AS old_rows NEW TABLE AS new_rows"),
      ("delete", "OLD TABLE AS old_rows"),
    ]
    let created = events.map { event, tables in
      """
      CREATE TRIGGER counted_\(event) AFTER \(event) ON \(table) REFERENCING \(tables)
      FOR EACH STATEMENT EXECUTE FUNCTION count_\(table)();
      """
    }
    return (created + ["ALTER TABLE \(table) DISABLE TRIGGER USER;"]).joined(separator: "\n")
  }
}
