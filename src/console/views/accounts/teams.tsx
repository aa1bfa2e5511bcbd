import { Button } from '../../components/button.tsx';
import { formatCredits, formatNumber } from '../../components/format.ts';
import { PagedTable } from '../../components/list.tsx';
import { Link } from '../../components/navigation.tsx';
import { FromProgram } from '../../components/snippets.tsx';
import { Empty } from '../../components/states.tsx';
import { changeOfTeam, newTeam, removalOf } from './actions.ts';
import { ActionButtons, Limits, useActions } from './limits.tsx';
import { namesOf, useHolders } from './lists.ts';

/** Teams with their budgets, for the owner. */
export default function Teams() {
  const teams = useHolders('teams');
  const accounts = useHolders('accounts');
  const { act, dialogs } = useActions(teams.reload);
  return (
    <>
      <div class="row">
        <h1>Teams</h1>
        <Button disabled={!accounts.data} onClick={() => act(newTeam(namesOf(accounts)))}>
          New team
        </Button>
        <span class="end">
          <Link to="usage?accounts=all&by=team">Usage by team</Link>
        </span>
      </div>
      <PagedTable
        list={teams}
        caption="Teams"
        more="Show more teams"
        empty={
          <Empty title="No teams">
            <p>
              Keys of a team share its budgets. Make a team, then choose it for keys of its account.
            </p>
          </Empty>
        }
        keyOf={({ id }) => id}
        columns={[
          ['Team', ({ name }) => name],
          ['Account', ({ account }) => account],
          [
            'Keys',
            ({ account, keys }) => (
              <Link to={`accounts?account=${encodeURIComponent(account)}`}>
                {formatNumber(keys)}
              </Link>
            ),
            'number',
          ],
          ['Spent', ({ spent }) => formatCredits(spent), 'number'],
          ['Budgets', Limits, 'wide'],
          [
            'Change',
            (team) => (
              <ActionButtons
                act={act}
                actions={[
                  ['Change', changeOfTeam(team)],
                  ['Remove', removalOf(team)],
                ]}
              />
            ),
          ],
        ]}
      />
      <FromProgram what="This list" request={{ method: 'GET', path: teams.path }} />
      {dialogs}
    </>
  );
}
