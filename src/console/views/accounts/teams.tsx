import { Button } from '../../components/button.tsx';
import { formatCredits, formatNumber } from '../../components/format.ts';
import { OlderButton } from '../../components/list.tsx';
import { Link } from '../../components/navigation.tsx';
import { FromProgram } from '../../components/snippets.tsx';
import { Empty, Loaded } from '../../components/states.tsx';
import { Table } from '../../components/table.tsx';
import { changeOfTeam, newTeam, removalOf } from './actions.ts';
import { type Act, ActionButton, Limits, useActions } from './limits.tsx';
import { namesOf, type Team, useHolders } from './lists.ts';

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
      <Loaded resource={teams}>{() => <TeamTable teams={teams.items} act={act} />}</Loaded>
      <OlderButton older={teams.older} hasMore={teams.hasMore}>
        Show more teams
      </OlderButton>
      <FromProgram what="This list" request={{ method: 'GET', path: teams.path }} />
      {dialogs}
    </>
  );
}

function TeamTable({ teams, act }: { readonly teams: readonly Team[]; readonly act: Act }) {
  if (teams.length === 0) {
    return (
      <Empty title="No teams">
        <p>
          Keys of a team share its budgets. Make a team, then choose it for keys of its account.
        </p>
      </Empty>
    );
  }
  return (
    <Table
      caption="Teams"
      rows={teams}
      keyOf={({ id }) => id}
      columns={[
        ['Team', ({ name }) => name],
        ['Account', ({ account }) => account],
        [
          'Keys',
          ({ account, keys }) => (
            <Link to={`accounts?account=${encodeURIComponent(account)}`}>{formatNumber(keys)}</Link>
          ),
          'number',
        ],
        ['Spent', ({ spent }) => formatCredits(spent), 'number'],
        ['Budgets', Limits, 'wide'],
        [
          'Change',
          (team) => (
            <div class="row">
              <ActionButton text="Change" action={changeOfTeam(team)} act={act} />
              <ActionButton text="Remove" action={removalOf(team)} act={act} />
            </div>
          ),
        ],
      ]}
    />
  );
}
