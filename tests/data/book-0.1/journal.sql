BEGIN TRANSACTION;
CREATE TABLE access (
        entry TEXT PRIMARY KEY,
        count INTEGER NOT NULL
    ) WITHOUT ROWID;
CREATE TABLE changes (
        operation INTEGER NOT NULL REFERENCES operations (seq) ON DELETE CASCADE,
        n INTEGER NOT NULL,
        kind TEXT NOT NULL,
        target TEXT NOT NULL,
        before TEXT,
        after TEXT,
        reason TEXT NOT NULL
    );
INSERT INTO "changes" VALUES(1,0,'item','MEMORY.md',NULL,'Decisions
Never force-push to main.','appended');
INSERT INTO "changes" VALUES(2,0,'add','1ccwi1',NULL,'### [1ccwi1] preference | 0.80 | 2026-02-10 | 1
The user prefers terse code with few comments.
<!-- score: 0.8; scored: 2026-02-10; created: 2026-02-10T09:00:03Z; tags: style, python; trust: user -->','remembered');
INSERT INTO "changes" VALUES(3,0,'add','5fjxg2',NULL,'### [5fjxg2] fact | 0.80 | 2026-02-10 | 1
用户对芒果过敏
<!-- score: 0.8; scored: 2026-02-10; created: 2026-02-10T09:00:07Z; trust: user -->','remembered');
INSERT INTO "changes" VALUES(4,0,'add','hixukc',NULL,'### [hixukc] workflow | 0.60 | 2026-02-10 | 1
The standup is at 9:15 in room Heron.
<!-- score: 0.6; scored: 2026-02-10; created: 2026-02-10T09:00:11Z; trust: user -->','remembered');
INSERT INTO "changes" VALUES(5,0,'update','hixukc','### [hixukc] workflow | 0.60 | 2026-02-10 | 1
The standup is at 9:15 in room Heron.
<!-- score: 0.6; scored: 2026-02-10; created: 2026-02-10T09:00:11Z; trust: user -->','### [hixukc] workflow | 0.60 | 2026-02-10 | 1
The standup is at 9:15 in room Heron.
<!-- score: 0.6; scored: 2026-02-10; created: 2026-02-10T09:00:11Z; trust: user; pinned -->','pinned');
INSERT INTO "changes" VALUES(6,0,'add','iuwp12',NULL,'### [iuwp12] todo | 0.60 | 2026-02-10 | 1
Renew the TLS certificate of the gateway
<!-- score: 0.6; scored: 2026-02-10; created: 2026-02-10T09:00:18Z; group: work/gateway; expires: 2026-03-15; trust: user; metadata: {"ticket": "OPS-17"} -->','remembered');
INSERT INTO "changes" VALUES(7,0,'add','lns1mj',NULL,'### [lns1mj] fact | 0.60 | 2026-02-10 | 1
The staging database is MySQL.
<!-- score: 0.6; scored: 2026-02-10; created: 2026-02-10T09:00:22Z; trust: user -->','remembered');
INSERT INTO "changes" VALUES(8,0,'add','1f8qjb',NULL,'### [1f8qjb] fact | 0.40 | 2026-02-10 | 1
The user once owned a parrot called Kiwi.
<!-- score: 0.4; scored: 2026-02-10; created: 2026-02-10T09:00:26Z; trust: user -->','remembered');
INSERT INTO "changes" VALUES(9,0,'reinforce','1ccwi1','### [1ccwi1] preference | 0.80 | 2026-02-10 | 1
The user prefers terse code with few comments.
<!-- score: 0.8; scored: 2026-02-10; created: 2026-02-10T09:00:03Z; tags: style, python; trust: user -->','### [1ccwi1] preference | 0.84 | 2026-02-13 | 2
The user prefers terse code with few comments.
<!-- score: 0.8400000000000001; scored: 2026-02-13; created: 2026-02-10T09:00:03Z; tags: style, python; trust: user -->','remembered');
INSERT INTO "changes" VALUES(10,0,'append','daily/2026-02-13.md',NULL,'- 2026-02-13T09:00:05Z [ops] Deployed v2 to staging; the heron database was slow. #deploy','appended');
INSERT INTO "changes" VALUES(11,0,'append','daily/2026-02-13.md',NULL,'- 2026-02-13T09:00:08Z [todo] 周五前完成部署检查','appended');
INSERT INTO "changes" VALUES(12,0,'add','u8whgt',NULL,'### [u8whgt] fact | 0.60 | 2026-02-13 | 1
The user moved to Lisbon in January and they cycle to the office.
<!-- score: 0.6; scored: 2026-02-13; created: 2026-02-12T18:00:00Z; session: 00bdee02-5205-5531-bd86-669880521bff; source: turn:t1; entities: Lisbon; trust: import -->','said: I moved to Lisbon in January and I cycle to the office.');
INSERT INTO "changes" VALUES(12,1,'add','j1ddsu',NULL,'### [j1ddsu] decision | 0.80 | 2026-02-13 | 1
We decided to keep PostgreSQL 15 for billing.
<!-- score: 0.8; scored: 2026-02-13; created: 2026-02-12T18:01:00Z; session: 00bdee02-5205-5531-bd86-669880521bff; source: turn:t3; entities: PostgreSQL 15; trust: import -->','said: We decided to keep PostgreSQL 15 for billing.');
INSERT INTO "changes" VALUES(12,2,'put','sessions/2026-02-12-521bff.md',NULL,'---
session: 00bdee02-5205-5531-bd86-669880521bff
started: 2026-02-12T18:00:00Z
ended: 2026-02-12T18:01:05Z
turns: 4
title: We decided to keep PostgreSQL 15 for billing
---

# We decided to keep PostgreSQL 15 for billing

User: I moved to Lisbon in January and I cycle to the office.
User: We decided to keep PostgreSQL 15 for billing.

## Decisions

- We decided to keep PostgreSQL 15 for billing.

## Turns

t1, t3
','summary of the session');
INSERT INTO "changes" VALUES(13,0,'remove','1f8qjb','### [1f8qjb] fact | 0.40 | 2026-02-10 | 1
The user once owned a parrot called Kiwi.
<!-- score: 0.4; scored: 2026-02-10; created: 2026-02-10T09:00:26Z; trust: user -->',NULL,'forgotten');
INSERT INTO "changes" VALUES(14,0,'update','lns1mj','### [lns1mj] fact | 0.60 | 2026-02-10 | 1
The staging database is MySQL.
<!-- score: 0.6; scored: 2026-02-10; created: 2026-02-10T09:00:22Z; trust: user -->','### [lns1mj] fact | 0.60 | 2026-02-10 | 1
The staging database is MariaDB.
<!-- score: 0.6; scored: 2026-02-10; created: 2026-02-10T09:00:22Z; trust: user -->','updated');
CREATE TABLE operations (
        seq INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        time TEXT NOT NULL,
        actor TEXT NOT NULL,
        door TEXT NOT NULL,
        session TEXT,
        done INTEGER NOT NULL DEFAULT 0,
        usage TEXT
    );
INSERT INTO "operations" VALUES(1,'20260210-090002000000-262cfb','2026-02-10T09:00:02.000000Z','user','cli',NULL,1,NULL);
INSERT INTO "operations" VALUES(2,'20260210-090005000000-5d0100','2026-02-10T09:00:05.000000Z','user','cli',NULL,1,NULL);
INSERT INTO "operations" VALUES(3,'20260210-090009000000-04d1da','2026-02-10T09:00:09.000000Z','user','cli',NULL,1,NULL);
INSERT INTO "operations" VALUES(4,'20260210-090013000000-43e18f','2026-02-10T09:00:13.000000Z','user','cli',NULL,1,NULL);
INSERT INTO "operations" VALUES(5,'20260210-090016000000-dd438c','2026-02-10T09:00:16.000000Z','user','cli',NULL,1,NULL);
INSERT INTO "operations" VALUES(6,'20260210-090020000000-9c41ec','2026-02-10T09:00:20.000000Z','user','cli',NULL,1,NULL);
INSERT INTO "operations" VALUES(7,'20260210-090024000000-4cbb37','2026-02-10T09:00:24.000000Z','user','cli',NULL,1,NULL);
INSERT INTO "operations" VALUES(8,'20260210-090028000000-318c31','2026-02-10T09:00:28.000000Z','user','cli',NULL,1,NULL);
INSERT INTO "operations" VALUES(9,'20260213-090003000000-426fcf','2026-02-13T09:00:03.000000Z','user','cli',NULL,1,NULL);
INSERT INTO "operations" VALUES(10,'20260213-090007000000-b34ca6','2026-02-13T09:00:07.000000Z','user','cli',NULL,1,NULL);
INSERT INTO "operations" VALUES(11,'20260213-090010000000-f05afe','2026-02-13T09:00:10.000000Z','user','cli',NULL,1,NULL);
INSERT INTO "operations" VALUES(12,'20260213-090013000000-76a3f7','2026-02-13T09:00:13.000000Z','user','import','00bdee02-5205-5531-bd86-669880521bff',1,NULL);
INSERT INTO "operations" VALUES(13,'20260213-090024000000-45078f','2026-02-13T09:00:24.000000Z','user','cli',NULL,1,NULL);
INSERT INTO "operations" VALUES(14,'20260213-090027000000-dc9e52','2026-02-13T09:00:27.000000Z','user','cli',NULL,1,NULL);
CREATE TABLE tombstones (
        digest TEXT PRIMARY KEY,
        reason TEXT NOT NULL,
        time TEXT NOT NULL
    ) WITHOUT ROWID;
INSERT INTO "tombstones" VALUES('f1a956087b16daf2582c21388eae3153','forgotten','2026-02-13T09:00:22.000000Z');
CREATE INDEX operations_pending ON operations (seq) WHERE done=0;
CREATE UNIQUE INDEX changes_by_operation ON changes (operation, n);
CREATE INDEX changes_by_target ON changes (target, operation);
COMMIT;
PRAGMA user_version=1;
