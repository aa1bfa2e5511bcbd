import { useState } from 'preact/hooks';
import { Button } from '../../components/button.tsx';
import { Facts } from '../../components/fact-list.tsx';
import { formatCredits, formatNumber } from '../../components/format.ts';
import { Time } from '../../components/time.tsx';
import { showToast } from '../../components/toast.tsx';
import { type Action, ActionDialog, NewKey } from './action-dialog.tsx';
import type { Key, Outcome, Team } from './lists.ts';

/** Opens the form of an action. */
export type Act = (action: Action) => void;

type Result = Readonly<Record<string, unknown>>;

/** Forms of actions, and the new key that one of them made. @param onDone loads what is shown again */
export function useActions(onDone: (result: Result, action: Action) => void) {
  const [action, setAction] = useState<Action>();
  const [made, setMade] = useState<string>();
  const done = ({ result, warnings }: Outcome<Result>) => {
    setAction(undefined);
    const { key, reason } = result;
    if (typeof key === 'string') setMade(key);
    else if (typeof reason === 'string') showToast(reason, { isFault: true });
    else if (!action!.isQuiet) showToast(warnings[0] ?? 'Done');
    onDone(result, action!);
  };
  const dialogs = (
    <>
      {action && (
        <ActionDialog
          key={action.title}
          action={action}
          onClose={() => setAction(undefined)}
          onDone={done}
        />
      )}
      {made !== undefined && <NewKey text={made} onClose={() => setMade(undefined)} />}
    </>
  );
  return { act: setAction as Act, dialogs };
}

interface ActionButtonsProps {
  /** The actions by the texts of their buttons. */
  readonly actions: readonly (readonly [text: string, action: Action])[];
  /** Name of what they change, which screen readers read; the titles of the actions by default. */
  readonly name?: string;
  readonly act: Act;
  readonly kind?: 'plain' | 'quiet';
}

/** The buttons of a row that open forms. */
export function ActionButtons({ actions, name, act, kind = 'quiet' }: ActionButtonsProps) {
  return (
    <div class="row">
      {actions.map(([text, action]) => (
        <Button
          key={text}
          kind={kind}
          aria-label={name === undefined ? action.title : `${text} ${name}`}
          onClick={() => act(action)}
        >
          {text}
        </Button>
      ))}
    </div>
  );
}

/** What a key or a team may do and spend. */
export function Limits(holder: Pick<Team, 'budget' | 'windows'> & Partial<Key>) {
  const { budget, windows, models, rpm, tpm, parallel, expires_at: expires } = holder;
  const budgets = [
    ...(budget ? [{ ...budget, period: 'in all' }] : []),
    ...windows.map((window) => ({ ...window, period: `a ${window.period}` })),
  ];
  return (
    <Facts
      facts={[
        models && (models.join(', ') || 'no models'),
        ...budgets.map(
          ({ period, spent, granted }) =>
            `${formatCredits(spent)} of ${formatCredits(granted)} ${period}`,
        ),
        rpm != null && `${formatNumber(rpm)} requests a minute`,
        tpm !== undefined && `${formatNumber(tpm)} tokens a minute`,
        parallel !== undefined && `${formatNumber(parallel)} requests at once`,
        expires && (
          <>
            expires <Time at={Date.parse(expires) / 1000} />
          </>
        ),
      ]}
    />
  );
}
