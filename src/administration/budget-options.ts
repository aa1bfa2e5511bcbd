import * as v from 'valibot';
import { Failure } from '../failure.ts';
import { invalid } from '../schema/invalid.ts';
import type { WindowLimits } from '../store/budgets.ts';
import { PERIODS } from '../store/calendar.ts';
import { toCredits } from '../store/credits.ts';
import { budget, parallelOrNone, timeZone, tpmOrNone } from './fields.ts';

/** Options for the loads, and the budgets by day, week and month, of a key or a team. */
export const limitOptions = {
  tpm: v.optional(tpmOrNone('tokens per minute, input and output together; no limit by default')),
  parallel: v.optional(parallelOrNone('requests in progress at once; no limit by default')),
  budgetDay: v.optional(budget('budget for each day')),
  budgetWeek: v.optional(budget('budget for each week, from Monday')),
  budgetMonth: v.optional(budget('budget for each month')),
  timeZone: v.optional(timeZone('time zone of these days, weeks and months; UTC by default')),
};

const limitSchema = v.object(limitOptions);
type LimitOptions = v.InferOutput<typeof limitSchema>;

/**
 * The window budgets that the options make of the present ones.
 *
 * @returns undefined where no option is given, null where no budget remains
 * @throws Failure for a time zone without a budget
 */
export function windowsFrom(
  options: LimitOptions,
  present?: WindowLimits,
): WindowLimits | null | undefined {
  const { budgetDay, budgetWeek, budgetMonth, timeZone: zone } = options;
  const given = { day: budgetDay, week: budgetWeek, month: budgetMonth };
  if (zone === undefined && PERIODS.every((period) => given[period] === undefined))
    return undefined;
  const limits = PERIODS.flatMap((period) => {
    const limit = given[period] === undefined ? present?.[period] : given[period];
    return limit == null ? [] : [[period, limit] as const];
  });
  if (limits.length > 0) {
    return { timeZone: zone ?? present?.timeZone ?? 'UTC', ...Object.fromEntries(limits) };
  }
  if (zone === undefined) return null;
  const message = 'has no meaning without a budget by day, week or month';
  throw invalid('timeZone', message);
}

/** A budget in the audit log, which leaves out what is null. */
const budgetDetail = (micro: number | null | undefined) =>
  typeof micro === 'number' ? toCredits(micro) : removedBy(micro, 'none');

/** The word that removes a value, for the audit log, in place of null. */
export function removedBy<Value>(
  value: Value,
  word: string,
): NonNullable<Value> | string | undefined {
  return value === null ? word : (value ?? undefined);
}

/** The options as they are in the audit log: credits as decimals. */
export function limitDetails({
  budget: total,
  tpm,
  parallel,
  ...windows
}: LimitOptions & { readonly budget?: number | null | undefined }) {
  return {
    tpm: removedBy(tpm, 'none'),
    parallel: removedBy(parallel, 'none'),
    budget: budgetDetail(total),
    budgetDay: budgetDetail(windows.budgetDay),
    budgetWeek: budgetDetail(windows.budgetWeek),
    budgetMonth: budgetDetail(windows.budgetMonth),
    timeZone: windows.timeZone,
  };
}

type Defined<Fields> = { [Name in keyof Fields]?: Exclude<Fields[Name], undefined> };

/** The fields that have a value or null. */
export function defined<Fields extends object>(fields: Fields): Defined<Fields> {
  const entries = Object.entries(fields).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as Defined<Fields>;
}

/** @throws Failure where no option but the positional ones is given */
export function requireChange(
  options: Readonly<Record<string, unknown>>,
  except: readonly string[],
): void {
  const given = Object.keys(options).filter((name) => options[name] !== undefined);
  if (given.some((name) => !except.includes(name))) return;
  const message = `nothing to change is given; expected an option besides ${except.join(' and ')}`;
  throw new Failure('invalid_request', message);
}
