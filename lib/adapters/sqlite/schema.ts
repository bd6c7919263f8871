// The tables, in one place. Every row belongs to a job of the file, by the job's number; nothing reads across jobs.

/** Raised when a file of the new code cannot be used by the old one. */
export const sqliteFormat = 1;

export const sqliteSchema: string = `
CREATE TABLE sluice_format (only INTEGER PRIMARY KEY CHECK (only = 1), version INTEGER NOT NULL) STRICT;
INSERT INTO sluice_format (only, version) VALUES (1, ${sqliteFormat});

-- revision: the last one given to a job item; never given again
CREATE TABLE jobs (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, revision INTEGER NOT NULL) STRICT;

CREATE TABLE entries (
  job INTEGER NOT NULL, generation INTEGER NOT NULL, subtask TEXT NOT NULL, slot INTEGER NOT NULL,
  n INTEGER NOT NULL, writer TEXT NOT NULL, bytes BLOB NOT NULL,
  PRIMARY KEY (job, generation, subtask, slot)
) STRICT;

CREATE TABLE state (
  job INTEGER NOT NULL, partition TEXT NOT NULL, sort TEXT NOT NULL,
  tags TEXT NOT NULL, expires_at_ms INTEGER, bytes BLOB NOT NULL,
  PRIMARY KEY (job, partition, sort)
) STRICT, WITHOUT ROWID;
CREATE INDEX state_expiry ON state (expires_at_ms) WHERE expires_at_ms IS NOT NULL;

CREATE TABLE items (
  job INTEGER NOT NULL, name TEXT NOT NULL, revision INTEGER NOT NULL, change TEXT NOT NULL, bytes BLOB NOT NULL,
  PRIMARY KEY (job, name)
) STRICT;

CREATE TABLE objects (job INTEGER NOT NULL, name TEXT NOT NULL, bytes BLOB NOT NULL, PRIMARY KEY (job, name)) STRICT;

-- serial: order of acceptance; a message is handed out from visible_at_ms on
CREATE TABLE messages (
  serial INTEGER PRIMARY KEY AUTOINCREMENT, job INTEGER NOT NULL, lane TEXT NOT NULL, bytes BLOB NOT NULL,
  visible_at_ms INTEGER NOT NULL, receives INTEGER NOT NULL
) STRICT;
CREATE INDEX messages_by_lane ON messages (job, lane, serial);

-- what the queue remembers of the messages it has accepted
CREATE TABLE accepted (job INTEGER NOT NULL, id TEXT NOT NULL, at_ms INTEGER NOT NULL, PRIMARY KEY (job, id)) STRICT, WITHOUT ROWID;
CREATE INDEX accepted_by_age ON accepted (job, at_ms);
`;
