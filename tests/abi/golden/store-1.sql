-- SPDX-License-Identifier: Apache-2.0
-- The store of version 1 as it was written, with a row of each kind: `sqlite3 store-1.db < store-1.sql`. Frozen: never made anew from newer code.
CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE job(id BLOB NOT NULL PRIMARY KEY, state TEXT NOT NULL, result TEXT NOT NULL, cause TEXT NOT NULL, op_cause TEXT NOT NULL, op_mode INTEGER NOT NULL, exit_code INTEGER NOT NULL, signal INTEGER NOT NULL, flags INTEGER NOT NULL, uid INTEGER NOT NULL, generation INTEGER NOT NULL, tries INTEGER NOT NULL, cpu_milli INTEGER NOT NULL, gpus INTEGER NOT NULL, memory_bytes INTEGER NOT NULL, machine BLOB, checkpoint BLOB, op_checkpoint BLOB, created_wall_us INTEGER NOT NULL, since_wall_us INTEGER NOT NULL, term_wall_us INTEGER NOT NULL, started_wall_us INTEGER NOT NULL, ended_wall_us INTEGER NOT NULL, ran_us INTEGER NOT NULL, ran_before_us INTEGER NOT NULL, ttl_us INTEGER NOT NULL, ttl_wall_us INTEGER NOT NULL, expire_wall_us INTEGER NOT NULL, next_try_wall_us INTEGER NOT NULL, name TEXT NOT NULL, user TEXT NOT NULL, project TEXT NOT NULL, offer TEXT NOT NULL, message TEXT NOT NULL, image_digest TEXT NOT NULL, trouble TEXT NOT NULL) STRICT;
CREATE INDEX job_live ON job(id) WHERE state<>'ended';
CREATE INDEX job_owner ON job(uid, id);
CREATE INDEX job_name ON job(name, id) WHERE name<>'';
CREATE TABLE job_spec(job BLOB NOT NULL PRIMARY KEY, spec TEXT NOT NULL, settings TEXT NOT NULL) STRICT;
CREATE TABLE history(job BLOB NOT NULL, at_wall_us INTEGER NOT NULL, event TEXT NOT NULL, from_state TEXT NOT NULL, to_state TEXT NOT NULL, result TEXT NOT NULL, cause TEXT NOT NULL, generation INTEGER NOT NULL, machine BLOB, message TEXT NOT NULL) STRICT;
CREATE INDEX history_job ON history(job);
CREATE TABLE machine(id BLOB NOT NULL PRIMARY KEY, state INTEGER NOT NULL, lease INTEGER NOT NULL, market INTEGER NOT NULL, own INTEGER NOT NULL, connection TEXT NOT NULL, zone TEXT NOT NULL, type TEXT NOT NULL, currency TEXT NOT NULL, provider_id TEXT NOT NULL, endpoint TEXT NOT NULL, token TEXT NOT NULL, price_nano_hour INTEGER NOT NULL, created_wall_us INTEGER NOT NULL, ended_wall_us INTEGER NOT NULL, stop_sure_wall_us INTEGER NOT NULL, stop_possible_wall_us INTEGER NOT NULL, notice_wall_us INTEGER NOT NULL) STRICT;
CREATE INDEX machine_live ON machine(id) WHERE state<>5;
CREATE TABLE intent(id BLOB NOT NULL PRIMARY KEY, kind TEXT NOT NULL, generation INTEGER NOT NULL, job BLOB, machine BLOB, opened_wall_us INTEGER NOT NULL, body TEXT NOT NULL, closed_wall_us INTEGER NOT NULL DEFAULT 0, outcome TEXT NOT NULL DEFAULT '') STRICT;
CREATE INDEX intent_open ON intent(id) WHERE closed_wall_us=0;
CREATE INDEX intent_job ON intent(job) WHERE job IS NOT NULL;
CREATE INDEX intent_closed ON intent(closed_wall_us) WHERE job IS NULL AND closed_wall_us<>0;
CREATE TABLE decision(id BLOB NOT NULL, job BLOB NOT NULL, at_wall_us INTEGER NOT NULL, policy TEXT NOT NULL, act TEXT NOT NULL, why TEXT NOT NULL, evidence TEXT NOT NULL, user TEXT NOT NULL) STRICT;
CREATE INDEX decision_job ON decision(job);
CREATE TABLE interval(job BLOB NOT NULL, policy TEXT NOT NULL, first_wall_us INTEGER NOT NULL, last_wall_us INTEGER NOT NULL, count INTEGER NOT NULL, why TEXT NOT NULL, best_margin TEXT NOT NULL, PRIMARY KEY(job, policy, first_wall_us)) STRICT, WITHOUT ROWID;
CREATE TABLE checkpoint(id BLOB NOT NULL PRIMARY KEY, job BLOB NOT NULL, generation INTEGER NOT NULL, dropped INTEGER NOT NULL, bytes INTEGER NOT NULL, wall_us INTEGER NOT NULL, freeze_us INTEGER NOT NULL, took_us INTEGER NOT NULL, capture TEXT NOT NULL, vault TEXT NOT NULL, progress TEXT NOT NULL, image_digest TEXT NOT NULL) STRICT;
CREATE INDEX checkpoint_job ON checkpoint(job);
CREATE INDEX checkpoint_live ON checkpoint(job) WHERE dropped=0;
CREATE TABLE idempotency(uid INTEGER NOT NULL, key TEXT NOT NULL, body_digest TEXT NOT NULL, job BLOB NOT NULL, at_wall_us INTEGER NOT NULL, PRIMARY KEY(uid, key)) STRICT, WITHOUT ROWID;
CREATE INDEX idempotency_job ON idempotency(job);
CREATE TABLE setting(project TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY(project, key)) STRICT, WITHOUT ROWID;
PRAGMA application_id=1886549092;

INSERT INTO meta VALUES('installation','ins_01jdvqgq9g0000000000000000');
INSERT INTO job VALUES(x'019377785d3000000000000000000001','suspended','','notice','',0,0,0,0,1000,1,0,1500,0,1073741824,NULL,x'019377785d3000000000000000000003',NULL,
 1796070984123456,1796070994123456,1796070984123456,0,0,12345,0,259200000000,1796330184123456,1796330194123456,0,
 'golden','ada','p','lab/here/box','saved before the machine goes','sha256:1','');
INSERT INTO job_spec VALUES(x'019377785d3000000000000000000001','{"command":["true"]}','{"file":{},"flag":{}}');
INSERT INTO history VALUES(x'019377785d3000000000000000000001',1796070984123456,'submit','','queued','','',0,NULL,'waits');
INSERT INTO history VALUES(x'019377785d3000000000000000000001',1796070994123456,'saved','saving','suspended','','notice',1,x'019377785d3000000000000000000002','saved before the machine goes');
INSERT INTO machine VALUES(x'019377785d3000000000000000000002',2,5,1,1,'lab','here','box','EUR','box','unix:/run/r','tok',350000000,1796070984000000,0,1796074584000000,1796074584000000,0);
INSERT INTO intent VALUES(x'019377785d3000000000000000000004','save',1,x'019377785d3000000000000000000001',x'019377785d3000000000000000000002',1796070990000000,'{}',0,'');
INSERT INTO decision VALUES(x'019377785d3000000000000000000005',x'019377785d3000000000000000000001',1796070990000000,'spot','suspend','notice in 120s','{"notice_us":120000000}','');
INSERT INTO interval VALUES(x'019377785d3000000000000000000001','ttl',1796070984123456,1796070994123456,2,'far away','71h');
INSERT INTO checkpoint VALUES(x'019377785d3000000000000000000003',x'019377785d3000000000000000000001',1,0,4096,1796070994000000,2000,9000,'values','here','step 12','sha256:1');
INSERT INTO idempotency VALUES(1000,'k1','d1',x'019377785d3000000000000000000001',1796070984123456);
INSERT INTO setting VALUES('','ttl','72h');
PRAGMA user_version=1;
