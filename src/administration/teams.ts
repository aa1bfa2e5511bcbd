import * as v from 'valibot';
import type { Team } from '../store/account.ts';
import type { Selection } from '../store/selection.ts';
import type { Store } from '../store/store.ts';
import { defineAdminCommand } from './admin-command.ts';
import {
  defined,
  limitDetails,
  limitOptions,
  requireChange,
  windowsFrom,
} from './budget-options.ts';
import { accountReference, budget, newTeamName, teamReference } from './fields.ts';
import { accountIdOf, requireAccount, requireTeam } from './find.ts';
import { pageOptions, readPage, shownPage } from './pages.ts';
import { type TeamRecord, teamRecords, teamShape } from './records.ts';
import { teamTable } from './tables.ts';

const account = accountReference("account of the team's keys");
const total = v.optional(budget("total budget of the team's keys"));
const team = teamReference('the team');

const recordOf = async (store: Store, found: Team) => (await teamRecords(store, [found]))[0]!;

const describe = ({ id, name, account: of }: TeamRecord) => `team ${id} (${name}) of account ${of}`;

/** The audit entry of an act on a team. @param of the account that is named, if any */
const actOn = (
  named: string,
  of: string | undefined,
  found: TeamRecord | null,
  details: object,
) => ({
  object: found?.id ?? named,
  details: { account: found?.account ?? of, ...details },
});

const createTeam = defineAdminCommand({
  group: 'teams',
  name: 'create',
  summary: 'Create a team: keys of an account that share budgets',
  positionals: ['name'],
  options: v.strictObject({
    name: newTeamName('name of the team; unique in its account'),
    account,
    budget: total,
    ...limitOptions,
  }),
  result: teamShape,
  examples: ['teams create crew --account ci --budget-month 500 --time-zone Europe/Berlin'],
  sample: { name: 'crew', account: 'ci', budgetMonth: '500', timeZone: 'Europe/Berlin' },
  run: async (store, options) => {
    const { id: accountId } = await requireAccount(store, options.account);
    const windows = windowsFrom(options);
    const created = await store.createTeam({
      accountId,
      name: options.name,
      budget: options.budget ?? null,
      ...defined({ tpm: options.tpm, parallel: options.parallel }),
      ...(windows && { windows }),
    });
    return recordOf(store, created);
  },
  audit: ({ name, account: of, ...budgets }, created) =>
    actOn(name, of, created, { name, ...limitDetails(budgets) }),
  show: (created) => ({ value: created.id, messages: [`${describe(created)} made`] }),
});

const listTeams = defineAdminCommand({
  group: 'teams',
  name: 'list',
  summary: 'List teams with their budgets, of one account or of all, in the order of creation',
  options: v.strictObject({
    account: v.optional(accountReference('only the teams of this account')),
    ...pageOptions,
  }),
  list: 'teams',
  result: v.object({ teams: v.array(teamShape), hasMore: v.boolean() }),
  examples: ['teams list --account ci'],
  run: async (store, { account: of, ...page }) => {
    const accountId = await accountIdOf(store, of);
    const list = (part: Selection) => store.listTeams(accountId, part);
    const isKept = ({ removedAt }: Team) => removedAt === null;
    const { items, hasMore } = await readPage(list, page, isKept);
    return { teams: await teamRecords(store, items), hasMore };
  },
  show: ({ teams, hasMore }) => shownPage(teamTable, teams, hasMore),
});

const setTeam = defineAdminCommand({
  group: 'teams',
  name: 'set',
  summary: 'Change the name and budgets of a team; its keys follow at once',
  positionals: ['team'],
  options: v.strictObject({
    team,
    account: v.optional(account),
    name: v.optional(newTeamName('new name')),
    budget: total,
    ...limitOptions,
  }),
  result: teamShape,
  examples: ['teams set crew --budget-day 40 --budget-month none'],
  sample: { team: 'crew', budgetDay: '40', budgetMonth: 'none' },
  run: async (store, options) => {
    requireChange(options, ['team', 'account']);
    const accountId = await accountIdOf(store, options.account);
    const found = await requireTeam(store, options.team, accountId);
    const windows = windowsFrom(options, found.windows);
    const { name, budget: most, tpm, parallel } = options;
    const fields = defined({ name, budget: most, windows, tpm, parallel });
    return recordOf(store, await store.updateTeam(found.id, fields));
  },
  audit: ({ team: named, account: of, name, ...budgets }, changed) =>
    actOn(named, of, changed, { name, ...limitDetails(budgets) }),
  show: (changed) => ({ messages: [`${describe(changed)} is changed`] }),
});

const removeTeam = defineAdminCommand({
  group: 'teams',
  name: 'remove',
  summary: 'Remove a team without keys; reports of usage still name it',
  positionals: ['team'],
  options: v.strictObject({ team, account: v.optional(account) }),
  result: teamShape,
  examples: [],
  sample: { team: 'crew' },
  run: async (store, { team: named, account: of }) => {
    const { id } = await requireTeam(store, named, await accountIdOf(store, of));
    return recordOf(store, await store.removeTeam(id));
  },
  audit: ({ team: named, account: of }, removed) =>
    actOn(named, of, removed, { name: removed?.name }),
  show: (removed) => ({ messages: [`${describe(removed)} is removed`] }),
});

export const TEAM_COMMANDS = [createTeam, listTeams, setTeam, removeTeam];
