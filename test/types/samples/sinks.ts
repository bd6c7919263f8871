import { type DataStream, GenericWriteAheadSink, idempotentSink, type TransactionId, TwoPhaseCommitSink } from 'sluice';

interface Alert {
  sensor: string;
  at: number;
}
declare const alerts: DataStream<Alert>;
declare const db: {
  upsert(id: string, v: Alert): Promise<void>;
  insertAll(v: readonly Alert[], checkpoint: number): Promise<boolean>;
  prepare(name: string, rows: readonly Alert[]): Promise<void>;
  commitPrepared(name: string): Promise<void>;
  rollbackPrepared(name: string): Promise<void>;
};

alerts.sinkTo(
  idempotentSink({
    async write(rows) {
      for (const { id, value } of rows) await db.upsert(id, value);
    },
  }),
  { uid: 'upserts' },
);

class Wal extends GenericWriteAheadSink<Alert> {
  override sendValues(values: readonly Alert[], checkpointId: number): Promise<boolean> {
    return db.insertAll(values, checkpointId);
  } // false or a throw: tried again
}
alerts.sinkTo(() => new Wal(), { uid: 'wal' });

interface Txn {
  readonly name: string;
  readonly rows: Alert[];
} // plain data: it lies in the checkpoint
class Prepared extends TwoPhaseCommitSink<Alert, Txn> {
  override beginTransaction(id: TransactionId): Txn {
    return { name: `${id.job}/${id.uid}/${id.generation}/${id.subtask}/${id.checkpoint}`, rows: [] };
  }
  override invoke(txn: Txn, value: Alert): void {
    txn.rows.push(value);
  } // never awaits: the hot path
  override preCommit(txn: Txn): Promise<void> {
    return db.prepare(txn.name, txn.rows);
  }
  override commit(txn: Txn): Promise<void> {
    return db.commitPrepared(txn.name);
  } // twice is harmless
  override abort(txn: Txn): Promise<void> {
    return db.rollbackPrepared(txn.name);
  }
}
alerts.sinkTo(() => new Prepared(), { uid: 'prepared' });
