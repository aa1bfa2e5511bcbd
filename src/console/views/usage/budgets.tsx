import type { SessionKey } from '../../api/account.ts';
import { formatCredits, formatTime } from '../../components/format.ts';

interface Bar extends NonNullable<SessionKey['budget']> {
  readonly title: string;
  /** Seconds since the epoch. */
  readonly resets: number | null;
}

/** The budgets of a holder: one for all time, and those of days, weeks and months. */
function barsOf(owner: string, { budget, windows }: Pick<SessionKey, 'budget' | 'windows'>): Bar[] {
  return [
    ...(budget === null ? [] : [{ ...budget, title: `Budget of ${owner}`, resets: null }]),
    ...windows.map((window) => ({
      ...window,
      title: `Budget of ${owner} for a ${window.period}`,
    })),
  ];
}

/** How much of the budgets of the session's key, and of its team, is used. */
export function Budgets({ accountKey }: { readonly accountKey: SessionKey }) {
  const { team } = accountKey;
  const bars = [
    ...barsOf('this key', accountKey),
    ...(team === null ? [] : barsOf(`the team ${team.name}`, team)),
  ];
  if (bars.length === 0) return null;
  return (
    <ul class="stack">
      {bars.map(({ title, granted, reserved, spent, resets }) => (
        <li key={title} class="budget">
          <span>{title}</span>
          <progress
            aria-label={title}
            max={Math.max(granted, 1e-9)}
            value={Math.min(granted, spent + reserved)}
          />
          <span class="muted">
            {formatCredits(spent)} of {formatCredits(granted)}
            {resets !== null && `, anew ${formatTime(resets)}`}
          </span>
        </li>
      ))}
    </ul>
  );
}
