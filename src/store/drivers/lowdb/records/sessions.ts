import { MAX_SESSIONS, type Session } from '../../../account.ts';
import type { Store } from '../../../store.ts';
import type { Records } from './records.ts';

/** The methods that change sessions. */
export function sessionMethods(records: Records) {
  return {
    async createSession({ hash, accountId, keyId, expiresAt }) {
      const { sessions, sessionsOfKey } = records.state;
      const createdAt = records.now();
      return records.change((transaction) => {
        transaction.holder({ accountId, keyId });
        const { changes } = transaction;
        for (const [order, session] of sessions.rows) {
          if (session.expiresAt <= createdAt) changes.push(['sessions', order, null]);
        }
        const open = [...sessionsOfKey.oldest(keyId)].filter(
          ([, session]) => session.expiresAt > createdAt,
        );
        for (const [order] of open.slice(0, Math.max(0, open.length - MAX_SESSIONS + 1))) {
          changes.push(['sessions', order, null]);
        }
        const session: Session = { hash, accountId, keyId, expiresAt, createdAt };
        changes.push(['sessions', sessions.newOrder(), session]);
        return session;
      });
    },
    async endSession(hash) {
      const order = records.state.sessionByHash.order(hash);
      if (order === undefined) return;
      await records.change(({ changes }) => changes.push(['sessions', order, null]));
    },
  } satisfies Partial<Store>;
}
