import { randomBytes } from 'node:crypto';
import type { Account, ApiKey, KeyChange, Team, TeamChange } from '../account.ts';
import { accountExists, conflict, notFound } from '../errors.ts';
import { checkAmount, checkWindows, grant } from '../funds.ts';
import { newId } from '../identifier.ts';
import type { Store } from '../store.ts';
import type { Operation, RecordsByKind, UnitOfWork } from './unit-of-work.ts';

interface Driver {
  readonly now: () => number;
  /** Runs the creation of an account. */
  readonly create: (operation: Operation<Account>) => Promise<Account>;
  /** Runs a change of an account, a key or a team, which nodes keep in memory. */
  readonly change: <Result extends Account | ApiKey | Team>(
    operation: Operation<Result>,
  ) => Promise<Result>;
}

/** The methods that change accounts, keys and teams. */
export function accountMethods({ now, create, change }: Driver) {
  const changeAccount = (
    id: string,
    next: (account: Account) => Account,
    record = (_account: Account, _unit: UnitOfWork) => {},
  ) =>
    change({
      needs: { accounts: [id] },
      apply(unit) {
        const account = put(unit, 'account', next(unit.get('account', id)));
        record(account, unit);
        return account;
      },
    });
  return {
    async createAccount({ name, plan, credits }) {
      const callbackSecret = newCallbackSecret();
      const sums = { granted: 0, reserved: 0, spent: 0 };
      const named = { id: newId('acct'), name, plan, ...sums, callbackSecret, createdAt: now() };
      const account = grant(named, credits);
      return create({
        // An account whose name is another's identifier could never be found by it.
        needs: { accounts: [name] },
        apply(unit) {
          if (unit.find('account', name)) throw accountExists(name);
          unit.put('account', account);
          unit.entry(account, { type: 'grant', amount: credits }, account.createdAt);
          return account;
        },
      });
    },
    async grant(accountId, amount, note) {
      const at = now();
      return changeAccount(
        accountId,
        (account) => grant(account, amount),
        (account, unit) => unit.entry(account, { type: 'grant', amount, note: note ?? null }, at),
      );
    },
    async setPlan(accountId, plan) {
      return changeAccount(accountId, (account) => ({ ...account, plan }));
    },
    async setBodies(accountId, bodies) {
      return changeAccount(accountId, (account) => changed(account, { bodies }));
    },
    async rotateCallbackSecret(accountId, dropPrevious) {
      const replacedAt = now();
      const callbackSecret = newCallbackSecret();
      return changeAccount(accountId, (account) => {
        const replaced = { secret: account.callbackSecret, replacedAt };
        return { ...account, callbackSecret, previousSecret: dropPrevious ? null : replaced };
      });
    },

    async createKey(key) {
      const state = { revokedAt: null, reserved: 0, spent: 0 };
      const created: ApiKey = { ...key, id: newId('key'), createdAt: now(), ...state };
      const { accountId, teamId } = key;
      return change({
        needs: { accounts: [accountId], teams: teamId === undefined ? [] : [teamId] },
        apply(unit) {
          unit.get('account', accountId);
          checkKey(unit, accountId, key);
          return put(unit, 'key', created);
        },
      });
    },
    async updateKey(keyId, fields) {
      const { teamId } = fields;
      return change({
        needs: { keys: [keyId], teams: typeof teamId === 'string' ? [teamId] : [] },
        apply(unit) {
          const key = unit.get('key', keyId);
          if (key.revokedAt !== null) throw conflict(`${keyId} is revoked`, 'key_revoked');
          checkKey(unit, key.accountId, fields);
          return put(unit, 'key', changed(key, fields));
        },
      });
    },
    async revokeKey(keyId) {
      const revokedAt = now();
      return change({
        needs: { keys: [keyId] },
        apply(unit) {
          const key = unit.get('key', keyId);
          return key.revokedAt === null ? put(unit, 'key', { ...key, revokedAt }) : key;
        },
      });
    },

    async createTeam(team) {
      const state = { removedAt: null, reserved: 0, spent: 0 };
      const created: Team = { ...team, id: newId('team'), createdAt: now(), ...state };
      return change({
        needs: { accounts: [team.accountId] },
        apply(unit) {
          unit.get('account', team.accountId);
          checkBudgets(team);
          return put(unit, 'team', created);
        },
      });
    },
    async updateTeam(teamId, fields) {
      return change({
        needs: { teams: [teamId] },
        apply(unit) {
          const team = teamIn(unit, teamId);
          checkBudgets(fields);
          return put(unit, 'team', changed(team, fields));
        },
      });
    },
    async removeTeam(teamId) {
      const removedAt = now();
      return change({
        needs: { teams: [teamId], members: [teamId] },
        apply(unit) {
          const team = teamIn(unit, teamId);
          let count = 0;
          for (const { revokedAt } of unit.keysOfTeam(team)) if (revokedAt === null) count += 1;
          if (count > 0) {
            const keys = count === 1 ? 'a key is' : `${count} keys are`;
            throw conflict(`${keys} in the team ${team.name}`, 'team_has_keys');
          }
          return put(unit, 'team', { ...team, removedAt });
        },
      });
    },
  } satisfies Partial<Store>;
}

/** Secret that signs callbacks, as Standard Webhooks writes it. */
function newCallbackSecret(): string {
  return `whsec_${randomBytes(32).toString('base64')}`;
}

/** @throws Failure for an amount, a time zone or a team that cannot be */
function checkKey(unit: UnitOfWork, accountId: string, fields: KeyChange): void {
  checkBudgets(fields);
  const { teamId } = fields;
  if (typeof teamId !== 'string') return;
  const team = unit.find('team', teamId);
  if (team?.accountId !== accountId || team.removedAt !== null) throw notFound('team', teamId);
}

function checkBudgets({ budget, windows }: Pick<KeyChange, 'budget' | 'windows'>): void {
  if (typeof budget === 'number') checkAmount(budget, 'budget');
  if (windows) checkWindows(windows);
}

/** Sets a record that nodes keep in memory. */
function put<Kind extends 'account' | 'key' | 'team'>(
  unit: UnitOfWork,
  kind: Kind,
  record: RecordsByKind[Kind],
): RecordsByKind[Kind] {
  unit.put(kind, record);
  unit.revise(record.id);
  return record;
}

/** Properties that null removes. */
const REMOVABLE: readonly string[] = ['allow', 'images', 'cache', 'bodies', 'windows', 'teamId'];

/** An account, a key or a team with some properties changed. */
function changed<Holder extends Account | ApiKey | Team>(
  holder: Holder,
  change: Pick<KeyChange, 'bodies'> | KeyChange | TeamChange,
): Holder {
  const next: Record<string, unknown> = { ...holder };
  for (const [name, value] of Object.entries(change)) {
    if (value === null && REMOVABLE.includes(name)) delete next[name];
    else if (value !== undefined) next[name] = value;
  }
  return next as unknown as Holder;
}

function teamIn(unit: UnitOfWork, teamId: string): Team {
  const team = unit.find('team', teamId);
  if (!team || team.removedAt !== null) throw notFound('team', teamId);
  return team;
}
