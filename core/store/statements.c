/* SPDX-License-Identifier: Apache-2.0 */
#include "store/columns.h"
#include "store/statements.h"

#define ALL_JOB(m_) JOB_COLUMNS(m_, m_, m_)
#define ALL_MACHINE(m_) MACHINE_COLUMNS(m_, m_)
#define ALL_CHECKPOINT(m_) CHECKPOINT_COLUMNS(m_, m_, m_)
#define ALL_ACCOUNT(m_) ACCOUNT_COLUMNS(m_, m_, m_)
#define ALL_HOLD(m_) HOLD_COLUMNS(m_, m_, m_)
#define ALL_LINE(m_) LINE_COLUMNS(m_, m_)
#define ALL_BILL(m_) BILL_COLUMNS(m_, m_, m_, m_)
/* Bills that began and ended before then. */
#define OLD_BILLS                                                                                         \
        "(SELECT what FROM bill WHERE from_wall_us<?1 AND what NOT IN(SELECT what FROM ledger_hold) AND " \
        "what NOT IN(SELECT what FROM ledger_line WHERE until_wall_us>=?1))"
#define OF_JOB(table_)                                      \
        {                                                   \
                "DELETE FROM " table_ " WHERE job=?", false \
        }

const struct stmt_row store_statements[STMT_N] = {
        [STMT_JOB_INSERT] = { "INSERT INTO job(id" ALL_JOB(
                                      COLUMN_NAME) ",offer,message,image_digest,trouble,name,user,project,live)"
                                                   "VALUES(?" ALL_JOB(COLUMN_SLOT) ",?,?,?,?,?,?,?,1)",
                true },
        /* the row must still be in the state that the engine saw, and generations only grow (law 18); no indexed column is named */
        [STMT_JOB_UPDATE] = { "UPDATE job SET "
                              "offer=coalesce(?,offer),message=coalesce(?,message),image_digest=coalesce(?,image_"
                              "digest)"
                              ",trouble=coalesce(?,trouble)" JOB_CHANGING_COLUMNS(
                                      COLUMN_SET, COLUMN_SET, COLUMN_SET) " WHERE id=? AND state=? AND generation<=?",
                true },
        [STMT_JOB_NAMES] = { "UPDATE job SET name=coalesce(?,name),user=coalesce(?,user),project=coalesce(?,project) "
                             "WHERE id=?",
                true },
        [STMT_JOB_LIVE] = { "UPDATE job SET live=? WHERE id=?", true },
        [STMT_SPEC_INSERT] = { "INSERT INTO job_spec(job,spec,settings)VALUES(?,?,?)", true },
        [STMT_SPEC_UPDATE] = { "UPDATE job_spec SET spec=coalesce(?,spec),settings=coalesce(?,settings) WHERE job=?",
                true },
        [STMT_HISTORY] = { "INSERT INTO "
                           "history(job,seq,at_wall_us,event,from_state,to_state,result,cause,generation,machine,"
                           "message)"
                           "VALUES(?1,(SELECT coalesce(max(seq),0)+1 FROM history WHERE "
                           "job=?1),?2,?3,?4,?5,?6,?7,?8,?9,?10)",
                true },
        [STMT_JOB_DELETE] = { "DELETE FROM job WHERE id=?", false },
        [STMT_SPEC_DELETE] = OF_JOB("job_spec"),
        [STMT_HISTORY_DELETE] = OF_JOB("history"),
        [STMT_DECISION_DELETE] = OF_JOB("decision"),
        [STMT_INTERVAL_DELETE] = OF_JOB("interval"),
        [STMT_INTENT_DELETE] = OF_JOB("intent"),
        [STMT_CHECKPOINT_DELETE] = OF_JOB("checkpoint"),
        [STMT_IDEMPOTENCY_DELETE] = OF_JOB("idempotency"),
        [STMT_MACHINE] = { "REPLACE INTO machine(id" ALL_MACHINE(COLUMN_NAME) ")VALUES(?" ALL_MACHINE(COLUMN_SLOT) ")",
                false },
        [STMT_INTENT_OPEN] = { "INSERT INTO "
                               "intent(id,kind,generation,job,machine,opened_wall_us,body)VALUES(?,?,?,?,?,?,?)",
                true },
        [STMT_INTENT_CLOSE] = { "UPDATE intent SET outcome=?,closed_wall_us=? WHERE id=?", true },
        [STMT_INTENT_PRUNE] = { "DELETE FROM intent WHERE job IS NULL AND closed_wall_us<>0 AND closed_wall_us<?",
                false },
        [STMT_DECISION] = { "INSERT INTO decision(id,job,seq,at_wall_us,policy,act,why,evidence,user)"
                            "VALUES(?1,?2,(SELECT coalesce(max(seq),0)+1 FROM decision WHERE "
                            "job=?2),?3,?4,?5,?6,?7,?8)",
                true },
        [STMT_INTERVAL] = { "INSERT INTO "
                            "interval(job,policy,why,first_wall_us,last_wall_us,count,best_margin)VALUES(?,?,?,?,?,?,?)"
                            "ON CONFLICT(job,policy,first_wall_us)DO UPDATE SET "
                            "why=excluded.why,last_wall_us=excluded.last_wall_us,"
                            "count=excluded.count,best_margin=excluded.best_margin",
                true },
        [STMT_CHECKPOINT] = { "REPLACE INTO checkpoint(id" ALL_CHECKPOINT(COLUMN_NAME) ")VALUES(?" ALL_CHECKPOINT(
                                      COLUMN_SLOT) ")",
                false },
        [STMT_IDEMPOTENCY] = { "INSERT INTO idempotency(uid,key,body_digest,job,at_wall_us)VALUES(?,?,?,?,?)", true },
        [STMT_SETTING] = { "REPLACE INTO setting(project,key,value)VALUES(?,?,?)", false },
        [STMT_SETTING_UNSET] = { "DELETE FROM setting WHERE project=? AND key=?", false },
        [STMT_META] = { "REPLACE INTO meta(key,value)VALUES(?,?)", false },
        [STMT_ACCOUNT] = { "REPLACE INTO ledger_account(id" ALL_ACCOUNT(COLUMN_NAME) ")VALUES(?" ALL_ACCOUNT(
                                   COLUMN_SLOT) ")",
                false },
        [STMT_ACCOUNT_DELETE] = { "DELETE FROM ledger_account WHERE id=?", true },
        [STMT_HOLD] = { "REPLACE INTO ledger_hold(id" ALL_HOLD(COLUMN_NAME) HOLD_ACCOUNTS
                ")VALUES(?" ALL_HOLD(COLUMN_SLOT) ",?,?,?)",
                false },
        [STMT_HOLD_DELETE] = { "DELETE FROM ledger_hold WHERE id=?", true },
        [STMT_BILL] = { "INSERT INTO bill(what" ALL_BILL(COLUMN_NAME) ")VALUES(?" ALL_BILL(COLUMN_SLOT) ")", true },
        /* a line that is there already is never written over */
        [STMT_LINE] = { "INSERT INTO ledger_line(what,seq" ALL_LINE(COLUMN_NAME) ")VALUES(?,?" ALL_LINE(
                                COLUMN_SLOT) ")",
                true },
        [STMT_LINE_PRUNE] = { "DELETE FROM ledger_line WHERE what IN " OLD_BILLS, false },
        [STMT_PRICE] = { "REPLACE INTO price(at_wall_us,offer,nano_hour,currency,to_be_had)VALUES(?,?,?,?,?)", false },
        [STMT_PRICE_PRUNE] = { "DELETE FROM price WHERE at_wall_us<?1 OR at_wall_us<"
                               "(SELECT at_wall_us FROM price ORDER BY at_wall_us DESC LIMIT 1 OFFSET ?2)",
                false },
        [STMT_BILL_PRUNE] = { "DELETE FROM bill WHERE what IN " OLD_BILLS, false },
};
