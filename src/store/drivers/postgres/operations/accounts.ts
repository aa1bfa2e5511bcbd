import type { Account, NewAccount, Plan } from '../../../account.ts';
import { conflict } from '../../../errors.ts';
import { grant } from '../../../funds.ts';
import { newId } from '../../../identifier.ts';
import { createdAccount, withNewSecret } from '../../../new-records.ts';
import type { Operation } from '../transactions/transactions.ts';

const NO_TASKS = { pending: 0, processing: 0, completed: 0, failed: 0, expired: 0 };

export function createAccount(account: NewAccount, at: number): Operation<Account> {
  const created = createdAccount(account, { id: newId('acct'), at });
  const { id, name } = created;
  return {
    // An account whose name is another's identifier could never be found by it.
    needs: { accounts: [name] },
    apply(batch) {
      if (batch.accounts.get(name)) {
        throw conflict(`there is an account ${JSON.stringify(name)} already`, 'account_exists');
      }
      const sums = { held: 0, requestBytes: 0, endedBytes: 0, storedBytes: 0, resultBytes: 0 };
      batch.accounts.put({ id, account: created, tasks: NO_TASKS, ...sums });
      batch.entry(created, { type: 'grant', amount: account.credits }, at);
      return created;
    },
  };
}

export function grantCredits(
  accountId: string,
  amount: number,
  { note = null, at }: { readonly note: string | null | undefined; readonly at: number },
): Operation<Account> {
  return {
    needs: { accounts: [accountId] },
    apply(batch) {
      const account = grant(batch.account(accountId).account, amount);
      batch.putAccount(account);
      batch.entry(account, { type: 'grant', amount, note }, at);
      batch.revisions.push(accountId);
      return account;
    },
  };
}

export function setPlan(accountId: string, plan: Plan): Operation<Account> {
  return changeAccount(accountId, (account) => ({ ...account, plan }));
}

export function rotateSecret(
  accountId: string,
  dropPrevious: boolean,
  at: number,
): Operation<Account> {
  return changeAccount(accountId, (account) => withNewSecret(account, dropPrevious, at));
}

function changeAccount(
  accountId: string,
  change: (account: Account) => Account,
): Operation<Account> {
  return {
    needs: { accounts: [accountId] },
    apply(batch) {
      const account = change(batch.account(accountId).account);
      batch.putAccount(account);
      batch.revisions.push(accountId);
      return account;
    },
  };
}
