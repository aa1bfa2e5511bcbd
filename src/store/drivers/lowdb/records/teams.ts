import type { NewTeam, Team, TeamChange } from '../../../account.ts';
import { conflict, notFound } from '../../../errors.ts';
import { newId } from '../../../identifier.ts';
import { changedTeam, checkBudgets, createdTeam } from '../../../new-records.ts';
import { compositeKey } from '../state/state.ts';
import type { Records } from './records.ts';

/** The methods that change teams. */
export class TeamWriter {
  readonly #records: Records;

  constructor(records: Records) {
    this.#records = records;
  }

  async createTeam(team: NewTeam): Promise<Team> {
    const { accountId } = team;
    this.#records.account(accountId);
    this.#checkName(accountId, team.name);
    checkBudgets(team);
    const created = createdTeam(team, { id: newId('team'), at: this.#records.now() });
    return this.#write(this.#records.state.teams.newOrder(), created);
  }

  async updateTeam(teamId: string, change: TeamChange): Promise<Team> {
    const { order, team } = this.#find(teamId);
    if (change.name !== undefined && change.name !== team.name) {
      this.#checkName(team.accountId, change.name);
    }
    checkBudgets(change);
    return this.#write(order, changedTeam(team, change));
  }

  async removeTeam(teamId: string): Promise<Team> {
    const { order, team } = this.#find(teamId);
    let count = 0;
    for (const [, key] of this.#records.state.keysOfAccount.oldest(team.accountId)) {
      if (key.teamId === teamId && key.revokedAt === null) count += 1;
    }
    if (count > 0) {
      const keys = count === 1 ? 'a key is' : `${count} keys are`;
      throw conflict(`${keys} in the team ${team.name}`, 'team_has_keys');
    }
    return this.#write(order, { ...team, removedAt: this.#records.now() });
  }

  #find(teamId: string): { readonly order: number; readonly team: Team } {
    const { teamById, teams } = this.#records.state;
    const order = teamById.order(teamId);
    const team = order === undefined ? undefined : teams.rows.get(order);
    if (!team || team.removedAt !== null) throw notFound('team', teamId);
    return { order: order!, team };
  }

  #checkName(accountId: string, name: string): void {
    if (!this.#records.state.teamByName.get(compositeKey(accountId, name))) return;
    throw conflict(`the account has a team ${JSON.stringify(name)} already`, 'team_exists');
  }

  async #write(order: number, team: Team): Promise<Team> {
    const transaction = this.#records.begin();
    transaction.changes.push(['teams', order, team]);
    await this.#records.commit(transaction);
    return this.#records.reservations.addTo(team);
  }
}
