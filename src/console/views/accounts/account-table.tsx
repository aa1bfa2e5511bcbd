import { Button } from '../../components/button.tsx';
import { formatCredits } from '../../components/format.ts';
import { Table } from '../../components/table.tsx';
import type { Action } from './action-dialog.tsx';
import { grantTo, planOf } from './actions.ts';
import type { Account } from './records.ts';

interface AccountTableProps {
  readonly accounts: readonly Account[];
  readonly act: (action: Action) => void;
}

export function AccountTable({ accounts, act }: AccountTableProps) {
  return (
    <Table
      caption="Accounts"
      rows={accounts}
      keyOf={({ id }) => id}
      columns={[
        { title: 'Account', cell: ({ name }) => name },
        { title: 'Plan', cell: ({ plan }) => <span class="badge">{plan}</span> },
        {
          title: 'Available',
          isNumber: true,
          cell: ({ credits }) => formatCredits(credits.available),
        },
        {
          title: 'Reserved',
          isNumber: true,
          cell: ({ credits }) => formatCredits(credits.reserved),
        },
        { title: 'Spent', isNumber: true, cell: ({ credits }) => formatCredits(credits.spent) },
        {
          title: 'Change',
          cell: (account) => (
            <div class="row">
              <Button
                kind="quiet"
                aria-label={`Grant credits to ${account.name}`}
                onClick={() => act(grantTo(account))}
              >
                Grant credits
              </Button>
              <Button
                kind="quiet"
                aria-label={`Plan of ${account.name}`}
                onClick={() => act(planOf(account))}
              >
                Plan
              </Button>
            </div>
          ),
        },
      ]}
    />
  );
}
