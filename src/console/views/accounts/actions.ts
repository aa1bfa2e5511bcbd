import type { Action } from './action-dialog.tsx';
import { type ActionField, named, rare } from './declared-fields.ts';
import type { Account, Key, Team } from './lists.ts';

export const newAccount: Action = {
  title: 'New account',
  command: ['accounts/create', {}],
  button: 'Create account',
  fields: [...named('name'), { name: 'plan', value: 'paid' }, ...named('credits')],
};

export function grantTo({ name }: Account): Action {
  return {
    title: `Grant credits to ${name}`,
    command: ['accounts/grant', { name }],
    button: 'Grant',
    fields: named('credits', 'note'),
  };
}

export function planOf({ name, plan }: Account): Action {
  return {
    title: `Plan of ${name}`,
    command: ['accounts/set-plan', { name }],
    button: 'Change plan',
    fields: [{ name: 'plan', value: plan }],
  };
}

const BUDGETS: readonly ActionField[] = [
  { name: 'budget', label: 'Budget in credits' },
  { name: 'budget_day', label: 'Budget for a day' },
  { name: 'budget_week', label: 'Budget for a week' },
  { name: 'budget_month', label: 'Budget for a month' },
];

const LIMITS: readonly ActionField[] = [
  ...named('models'),
  ...BUDGETS,
  { name: 'rpm', label: 'Requests per minute' },
  { name: 'tpm', label: 'Tokens per minute' },
  { name: 'parallel', label: 'Requests at once' },
  ...named('team'),
  ...rare('time_zone', 'allow', 'images', 'cache', 'bodies'),
];

/** A change of something that is there. @param text what empty fields do */
export function changeOf(
  name: string,
  command: Action['command'],
  fields: readonly ActionField[],
  text = 'An empty field changes nothing; “none” removes a limit.',
): Action {
  return { title: `Change ${name}`, command, button: 'Save', isChange: true, text, fields };
}

/** An action that cannot be undone. @param text what becomes of those who use it */
export function endOf(
  title: string,
  command: Action['command'],
  button: string,
  text: string,
): Action {
  return { title: `${title}?`, command, button, isDanger: true, text, fields: [] };
}

/** Fields with the values that a key or a team has. */
function filled(
  fields: readonly ActionField[],
  { budget, windows }: Pick<Team, 'budget' | 'windows'>,
  others: Readonly<Record<string, string | undefined>>,
): readonly ActionField[] {
  const values: Readonly<Record<string, string | undefined>> = {
    ...others,
    budget: budget === null ? undefined : String(budget.granted),
    ...Object.fromEntries(
      windows.map(({ period, granted }) => [`budget_${period}`, String(granted)]),
    ),
  };
  return fields.map((field) => {
    const value = values[field.name];
    return value === undefined ? field : { ...field, value };
  });
}

/** The account that a new key or team belongs to. */
function ownerField(
  label: string,
  accounts: readonly string[] | undefined,
  account: string,
): ActionField {
  const value = account || (accounts?.[0] ?? '');
  return {
    name: 'account',
    label,
    value,
    isRequired: true,
    ...(accounts && { choices: accounts }),
  };
}

/** @param accounts names of all accounts to choose from; undefined where they are too many */
export function newTeam(accounts: readonly string[] | undefined): Action {
  return {
    title: 'New team',
    command: ['teams/create', {}],
    button: 'Create team',
    text: 'Keys of one account that share budgets.',
    fields: [
      ...named('name'),
      ownerField('Account of its keys', accounts, ''),
      ...BUDGETS,
      ...rare('time_zone'),
    ],
  };
}

export function changeOfTeam(team: Team): Action {
  const { id, name } = team;
  const fields = filled([...named('name'), ...BUDGETS, ...rare('time_zone')], team, { name });
  return changeOf(name, ['teams/set', { team: id }], fields);
}

export function removalOf({ id, name }: Team): Action {
  const text = 'Its keys must have been revoked or belong to no team. Usage still names it.';
  return endOf(`Remove ${name}`, ['teams/remove', { team: id }], 'Remove team', text);
}

/** @param accounts names of all accounts to choose from; undefined where they are too many */
export function newKey(accounts: readonly string[] | undefined, account: string): Action {
  return {
    title: 'New API key',
    command: ['keys/create', {}],
    button: 'Create key',
    fields: [
      ownerField('Account that pays', accounts, account),
      { name: 'name', hint: 'Where you use the key: an application, a person.' },
      ...LIMITS,
      ...named('expires'),
    ],
  };
}

export function changeOfKey(key: Key): Action {
  const { id, name, models, rpm, tpm, parallel, team } = key;
  const values = {
    ...{ name, team: team ?? undefined, models: models?.join(',') },
    ...{ rpm: rpm?.toString(), tpm: tpm?.toString(), parallel: parallel?.toString() },
  };
  const fields = filled([...named('name'), ...LIMITS, ...named('expires')], key, values);
  return changeOf(name, ['keys/set', { id }], fields);
}

export function revokeOf({ id, name, account }: Key): Action {
  const text = `Programs of ${account} that use this key are refused from now on, for ever.`;
  return endOf(`Revoke ${name}`, ['keys/revoke', { id }], 'Revoke key', text);
}
