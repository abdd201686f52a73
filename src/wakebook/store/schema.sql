
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
CREATE TABLE file (id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, modified INTEGER NOT NULL,
  size INTEGER NOT NULL, digest BLOB NOT NULL, problem TEXT NOT NULL DEFAULT '') STRICT;
CREATE TABLE session (id INTEGER PRIMARY KEY, name TEXT NOT NULL, host TEXT NOT NULL,
  UNIQUE (name, host)) STRICT;
CREATE TABLE chunk (id INTEGER PRIMARY KEY, name TEXT NOT NULL, file INTEGER NOT NULL,
  place INTEGER NOT NULL, line INTEGER NOT NULL, last_line INTEGER NOT NULL, at INTEGER NOT NULL,
  session INTEGER NOT NULL, category TEXT NOT NULL, type TEXT NOT NULL, subject TEXT NOT NULL,
  status TEXT NOT NULL, kind TEXT NOT NULL, speaker TEXT NOT NULL,
  project TEXT NOT NULL, own INTEGER NOT NULL,
  pinned INTEGER NOT NULL, archived INTEGER NOT NULL, asks INTEGER NOT NULL,
  turn INTEGER NOT NULL, dated INTEGER NOT NULL,
  replaced_by TEXT NOT NULL DEFAULT '', digest BLOB NOT NULL) STRICT;
CREATE INDEX chunk_name ON chunk (name);
CREATE INDEX chunk_file ON chunk (file, place);
CREATE INDEX chunk_session ON chunk (session, place);
CREATE INDEX chunk_subject ON chunk (subject);
CREATE INDEX chunk_type ON chunk (type, at);
CREATE INDEX chunk_category ON chunk (category, at);
CREATE INDEX chunk_at ON chunk (at);
CREATE TABLE body (id INTEGER PRIMARY KEY, title TEXT NOT NULL, text TEXT NOT NULL,
  detail TEXT NOT NULL, language TEXT NOT NULL) STRICT;
CREATE INDEX body_doubts ON body (id) WHERE detail LIKE '%Perhaps no longer: %';
CREATE TABLE replaces (old TEXT NOT NULL, new TEXT NOT NULL, PRIMARY KEY (old, new)) WITHOUT ROWID;
CREATE INDEX replaces_new ON replaces (new);
CREATE TABLE said (file TEXT NOT NULL, place INTEGER NOT NULL, entry TEXT NOT NULL,
  PRIMARY KEY (file, place, entry)) WITHOUT ROWID;
CREATE INDEX said_entry ON said (entry);
CREATE TABLE entry (seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, subject TEXT NOT NULL,
  at REAL NOT NULL, type TEXT NOT NULL, kind TEXT NOT NULL, status TEXT NOT NULL,
  pinned INTEGER NOT NULL, depth INTEGER NOT NULL DEFAULT 0,
  replaced_by TEXT NOT NULL DEFAULT '', line BLOB NOT NULL) STRICT;
CREATE INDEX entry_subject ON entry (subject, at) WHERE replaced_by = '';
CREATE INDEX entry_at ON entry (at);
CREATE INDEX entry_open ON entry (at) WHERE status = 'open';
CREATE INDEX entry_kind ON entry (kind, seq) WHERE kind != '';
CREATE INDEX entry_pinned ON entry (seq) WHERE pinned AND replaced_by = '';
CREATE TABLE dirty (seq INTEGER PRIMARY KEY) STRICT;
CREATE TABLE waiting (name TEXT PRIMARY KEY, seq INTEGER NOT NULL) STRICT;
CREATE TABLE written (path TEXT PRIMARY KEY, digest BLOB NOT NULL) STRICT;
CREATE TABLE block (key TEXT PRIMARY KEY, lines TEXT NOT NULL) STRICT;
CREATE TABLE pending (id INTEGER PRIMARY KEY) STRICT;
CREATE TABLE term (id INTEGER PRIMARY KEY, word TEXT NOT NULL UNIQUE, chunks INTEGER NOT NULL,
  blocks INTEGER NOT NULL) STRICT;
CREATE TABLE posting (id INTEGER PRIMARY KEY, ids BLOB NOT NULL, uses BLOB NOT NULL) STRICT;
CREATE TABLE vectors (block INTEGER PRIMARY KEY, version INTEGER NOT NULL, scales BLOB NOT NULL,
  signs BLOB NOT NULL, numbers BLOB NOT NULL) STRICT;
CREATE INDEX vectors_version ON vectors (version);
