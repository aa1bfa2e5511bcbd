import type { Action } from './action-dialog.tsx';
import type { ActionField } from './declared-fields.ts';
import type { Account, Key } from './pages.tsx';

const PLANS = ['paid', 'free'] as const;

export const newAccount: Action = {
  title: 'New account',
  command: ['accounts/create', {}],
  button: 'Create account',
  fields: [
    { name: 'name', label: 'Name', isRequired: true },
    { name: 'plan', label: 'Plan', value: 'paid', choices: PLANS },
    { name: 'credits', label: 'Credits', type: 'number', hint: 'Empty: no credits at first.' },
  ],
};

export function grantTo({ name }: Account): Action {
  return {
    title: `Grant credits to ${name}`,
    command: ['accounts/grant', { name }],
    button: 'Grant',
    fields: [
      { name: 'credits', label: 'Credits', type: 'number', isRequired: true },
      { name: 'note', label: 'Note', hint: 'Shown in the ledger of the account.' },
    ],
  };
}

export function planOf({ name, plan }: Account): Action {
  return {
    title: `Plan of ${name}`,
    command: ['accounts/set-plan', { name }],
    button: 'Change plan',
    fields: [{ name: 'plan', label: 'Plan', value: plan, choices: PLANS }],
  };
}

const LIMITS: readonly ActionField[] = [
  { name: 'models', label: 'Models', hint: 'Names with commas between them; all if empty.' },
  { name: 'budget', label: 'Budget in credits', type: 'number' },
  { name: 'budget_day', label: 'Budget for a day', type: 'number' },
  { name: 'budget_month', label: 'Budget for a month', type: 'number' },
  {
    name: 'rpm',
    label: 'Requests per minute',
    type: 'number',
    hint: 'Empty: the limit of the plan.',
  },
  { name: 'tpm', label: 'Tokens per minute', type: 'number' },
  { name: 'parallel', label: 'Requests at once', type: 'number' },
];

/** @param accounts names of all accounts to choose from; undefined where they are too many */
export function newKey(accounts: readonly string[] | undefined, account: string): Action {
  return {
    title: 'New API key',
    command: ['keys/create', {}],
    button: 'Create key',
    fields: [
      {
        name: 'account',
        label: 'Account that pays',
        value: account || (accounts?.[0] ?? ''),
        isRequired: true,
        ...(accounts && { choices: accounts }),
      },
      { name: 'name', label: 'Name', hint: 'Where you use the key: an application, a person.' },
      ...LIMITS,
      { name: 'expires', label: 'Expires', hint: 'A date or a time from now, such as 90d.' },
    ],
  };
}

export function changeOf({ id, name, models, budget, rpm, tpm, parallel, windows }: Key): Action {
  const values: Readonly<Record<string, string | undefined>> = {
    models: models?.join(','),
    budget: budget === null ? undefined : String(budget.granted),
    rpm: rpm === null ? undefined : String(rpm),
    tpm: tpm?.toString(),
    parallel: parallel?.toString(),
    ...Object.fromEntries(
      windows.map(({ period, granted }) => [`budget_${period}`, String(granted)]),
    ),
  };
  return {
    title: `Change ${name}`,
    command: ['keys/set', { id }],
    button: 'Save',
    fields: [
      { name: 'name', label: 'Name', value: name },
      ...LIMITS.map((field) => {
        const value = values[field.name];
        return {
          ...field,
          hint: '“none” removes it; an empty field changes nothing.',
          ...(value !== undefined && { value }),
        };
      }),
    ],
  };
}

export function revokeOf({ id, name, account }: Key): Action {
  return {
    title: `Revoke ${name}?`,
    command: ['keys/revoke', { id }],
    button: 'Revoke key',
    isDanger: true,
    text: `Programs of ${account} that use this key are refused from now on, for ever.`,
    fields: [],
  };
}
