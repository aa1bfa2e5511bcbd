import type { ApiKey, KeyChange, NewKey, NewTeam, Team, TeamChange } from '../../../account.ts';
import { conflict, notFound } from '../../../errors.ts';
import { newId } from '../../../identifier.ts';
import {
  changedKey,
  changedTeam,
  checkBudgets,
  createdKey,
  createdTeam,
} from '../../../new-records.ts';
import type { Batch } from '../transactions/batch.ts';
import type { Operation } from '../transactions/transactions.ts';

export function createKey(key: NewKey, at: number): Operation<ApiKey> {
  const created = createdKey(key, { id: newId('key'), at });
  const { accountId, teamId } = key;
  return {
    needs: { accounts: [accountId], teams: teamId === undefined ? [] : [teamId] },
    apply(batch) {
      batch.account(accountId);
      checkBudgets(key);
      if (teamId !== undefined) checkTeam(batch, accountId, teamId);
      batch.keys.put(created);
      batch.revisions.push(created.id);
      return created;
    },
  };
}

export function updateKey(keyId: string, change: KeyChange): Operation<ApiKey> {
  const { teamId } = change;
  return {
    needs: { keys: [keyId], teams: typeof teamId === 'string' ? [teamId] : [] },
    apply(batch) {
      const key = keyIn(batch, keyId);
      if (key.revokedAt !== null) throw conflict(`${keyId} is revoked`, 'key_revoked');
      checkBudgets(change);
      if (typeof teamId === 'string') checkTeam(batch, key.accountId, teamId);
      return putKey(batch, changedKey(key, change));
    },
  };
}

export function revokeKey(keyId: string, at: number): Operation<ApiKey> {
  return {
    needs: { keys: [keyId] },
    apply(batch) {
      const key = keyIn(batch, keyId);
      return key.revokedAt === null ? putKey(batch, { ...key, revokedAt: at }) : key;
    },
  };
}

function keyIn(batch: Batch, keyId: string): ApiKey {
  const key = batch.keys.get(keyId);
  if (!key) throw notFound('key', keyId);
  return key;
}

function putKey(batch: Batch, key: ApiKey): ApiKey {
  batch.keys.put(key);
  batch.revisions.push(key.id);
  return key;
}

function checkTeam(batch: Batch, accountId: string, teamId: string): void {
  const team = batch.teams.get(teamId);
  if (team?.accountId !== accountId || team.removedAt !== null) throw notFound('team', teamId);
}

export function createTeam(team: NewTeam, at: number): Operation<Team> {
  const created = createdTeam(team, { id: newId('team'), at });
  return {
    needs: { accounts: [team.accountId] },
    apply(batch) {
      batch.account(team.accountId);
      checkBudgets(team);
      return putTeam(batch, created);
    },
  };
}

export function updateTeam(teamId: string, change: TeamChange): Operation<Team> {
  return {
    needs: { teams: [teamId] },
    apply(batch) {
      const team = teamIn(batch, teamId);
      checkBudgets(change);
      return putTeam(batch, changedTeam(team, change));
    },
  };
}

export function removeTeam(teamId: string, at: number): Operation<Team> {
  return {
    needs: { teams: [teamId], members: [teamId] },
    apply(batch) {
      const team = teamIn(batch, teamId);
      let count = 0;
      for (const key of batch.keys.values()) {
        if (key.teamId === teamId && key.revokedAt === null) count += 1;
      }
      if (count > 0) {
        const keys = count === 1 ? 'a key is' : `${count} keys are`;
        throw conflict(`${keys} in the team ${team.name}`, 'team_has_keys');
      }
      return putTeam(batch, { ...team, removedAt: at });
    },
  };
}

function teamIn(batch: Batch, teamId: string): Team {
  const team = batch.teams.get(teamId);
  if (!team || team.removedAt !== null) throw notFound('team', teamId);
  return team;
}

function putTeam(batch: Batch, team: Team): Team {
  batch.teams.put(team);
  batch.revisions.push(team.id);
  return team;
}
