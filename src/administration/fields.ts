import * as v from 'valibot';
import { parseDuration } from '../config/fields/units.ts';
import { EFFORTS } from '../config/settings/models.ts';
import { boundedText, field } from '../schema/fields.ts';
import { IMAGE_ANSWERS, KEPT_BODIES } from '../store/account.ts';
import { timeZoneNamed } from '../store/calendar.ts';
import { MAX_CREDITS, parseCredits } from '../store/credits.ts';
import { FEATURES } from '../store/features.ts';
import { USAGE_DIMENSIONS, usageDimensions } from '../store/usage-report.ts';

/**
 * A field whose text is parsed; a description completes it. It is invalid where `parse` returns undefined or throws.
 * The description is before the transformation, since the JSON Schema of inputs ends there.
 */
const parsed =
  <Value>(parse: (text: string) => Value | undefined, expects: string) =>
  (description: string) =>
    v.pipe(
      field(v.string(), description, { expects }),
      v.rawTransform<string, Value>(({ dataset, addIssue, NEVER }) => {
        try {
          const value = parse(dataset.value);
          if (value !== undefined) return value;
        } catch {
          // The issue below is reported with the phrase of `expects`.
        }
        addIssue();
        return NEVER;
      }),
    );

/** A parsed field of which a word removes the value: it is null then. */
const removable = <Value>(
  parse: (text: string) => Value | undefined,
  expects: string,
  word: string,
) =>
  parsed<Value | null>(
    (text) => (text.trim() === word ? null : parse(text)),
    `${expects}, or ${word}`,
  );

const matching = (pattern: RegExp, expects: string) => (description: string) =>
  field(v.pipe(v.string(), v.regex(pattern)), description, { expects });

/** The name of something that the store or the configuration has. */
const reference =
  (expects: string, maxLength = 512) =>
  (description: string) =>
    field(boundedText(maxLength), description, { expects });

/** Any text on one line; not the beginning of a flag or of an account's id, and no blank at either end. */
const NAME = /^(?!acct_|[-\s])[^\p{C}\p{Zl}\p{Zp}]{0,63}[^\p{C}\s]$/u;

/** The name of a new account or key. */
export const newName = matching(
  NAME,
  '1 to 64 characters on one line that do not begin like a flag or an id',
);

/** Not like an id, and not the word that takes a key out of its team. */
const TEAM_NAME = /^(?!team_|none$|[-\s])[^\p{C}\p{Zl}\p{Zp}]{0,63}[^\p{C}\s]$/u;

export const newTeamName = matching(
  TEAM_NAME,
  '1 to 64 characters on one line that do not begin like a flag or an id; not none',
);

/** A remark on one line. */
export const note = matching(/^[^\p{Cc}\p{Zl}\p{Zp}]{1,200}$/u, '1 to 200 characters on one line');

export const accountReference = reference('the name or the id of an account');
export const keyReference = reference(
  'the id of a key or its beginning, its hint, or the key itself',
);
export const teamReference = reference('the name or the id of a team');
/** The name of a provider of the catalog. */
export const entryName = matching(
  /^(?!(?:constructor|prototype)$)[A-Za-z0-9][A-Za-z0-9._:/@+-]{0,127}$/,
  'letters, digits and . _ : / @ + -, 128 at most',
);
/** The identifier of a model of the catalog. */
export const modelEntryName = matching(
  /^(?!(?:constructor|prototype)$)(?=[^*]*\*?[^*]*$)[A-Za-z0-9*][A-Za-z0-9._:/@+*-]{0,127}$/,
  'letters, digits and . _ : / @ + -, one * at most, 128 in all',
);
/** A provider's name of a model. */
export const upstreamModel = matching(
  /^[^\p{Cc}\p{Zl}\p{Zp}]{1,256}$/u,
  '1 to 256 characters on one line',
);
/** The name of one model in a report. */
export const modelName = reference('the name of a model', 256);

/** Credits as a decimal; parsed to micro-credits. */
export const credits = (description: string, least: '0' | '0.000001') =>
  parsed(microFrom(least), creditsFrom(least))(description);

const microFrom = (least: string) => (text: string) => {
  const micro = parseCredits(text);
  return micro >= parseCredits(least) ? micro : undefined;
};

const creditsFrom = (least: string) =>
  `credits from ${least} to ${MAX_CREDITS / 1e6} with at most six decimals`;

/** Credits, or `none` for no limit. */
export const budget = removable(microFrom('0.000001'), creditsFrom('0.000001'), 'none');

/** The name of a time zone of the IANA database. */
export const timeZone = parsed(
  timeZoneNamed,
  'the name of a time zone, such as Europe/Berlin or UTC',
);

/** A team, or `none`. */
export const teamOrNone = removable(
  (text) => (text !== '' && text.length <= 512 ? text : undefined),
  'the name or the id of a team',
  'none',
);

const EXPIRY = 'a future time such as 2027-01-31, 2027-01-31T12:00:00Z or 90d';
const expiryIn = (text: string) => parseExpiry(text, Date.now());

/** A time in the future, or `never`; parsed to milliseconds since the epoch. */
export const expiryOrNever = removable(expiryIn, EXPIRY, 'never');

const namesIn = (text: string) => [...new Set(text.split(',').map((name) => name.trim()))];

const MODELS = 'names of models, separated by commas';
const MODEL = /^[\x21-\x2b\x2d-\x7e]{1,256}$/;

const modelsIn = (most: number) => (text: string) => {
  const names = namesIn(text);
  return names.length <= most && names.every((name) => MODEL.test(name)) ? names : undefined;
};

/** Names of models separated by commas, or `all`; parsed to a list without duplicates. */
export const modelsOrAll = removable(modelsIn(1000), MODELS, 'all');

/** Further names of a model, separated by commas, or `none`. */
export const aliasesOrNone = removable(
  modelsIn(100),
  'at most 100 names, separated by commas',
  'none',
);

function reasoningIn(text: string) {
  const names = namesIn(text);
  const efforts = EFFORTS.filter((effort) => names.includes(effort));
  if (efforts.length < names.length) return undefined;
  return {
    supported_efforts: efforts,
    default_effort: efforts.includes('medium') ? 'medium' : efforts.at(-1),
    can_disable: efforts.includes('none'),
  };
}

/** Efforts of reasoning separated by commas, or `none` where a model does not reason; parsed to a model's setting. */
export const reasoningOrNone = removable(
  reasoningIn,
  `one or more of ${EFFORTS.join(', ')}, separated by commas`,
  'none',
);

const FEATURE_NAMES = `one or more of ${FEATURES.join(', ')}, separated by commas`;

function featuresIn(text: string): string[] | undefined {
  const names = namesIn(text);
  const isKnown = (name: string) => FEATURES.some((known) => known === name);
  return names.every(isKnown) ? names : undefined;
}

/** Names of features separated by commas, or `none`; parsed to a list without duplicates. */
export const featuresOrNone = removable(featuresIn, FEATURE_NAMES, 'none');

/** One of a few words, or `default` for the setting that is less specific. */
const choiceOrDefault = <Choice extends string>(choices: readonly Choice[]) =>
  removable(
    (text) => choices.find((choice) => choice === text.trim()),
    `one of ${choices.join(', ')}`,
    'default',
  );

export const imageAnswerOrDefault = choiceOrDefault(IMAGE_ANSWERS);

/** Of which requests bodies are kept. */
export const keptBodiesOrDefault = choiceOrDefault(KEPT_BODIES);

const CACHE = 'a time from 1s to 24d with its unit, or off';
const OFF = 'off';

function cacheTimeIn(text: string): string | undefined {
  const time = parseDuration(text.trim());
  const isTime = time !== null && time >= 1000 && time <= 24 * 86_400_000;
  return isTime || text.trim() === OFF ? text.trim() : undefined;
}

/** How long answers are cached, `off`, or `default` for the time of the model. */
export const cacheTimeOrDefault = removable(cacheTimeIn, CACHE, 'default');

/** An integer from 1, or a word for another limit. */
const countOr = (word: string, most: number) =>
  removable(
    (text) => {
      const count = /^\d{1,10}$/.test(text.trim()) ? Number(text) : 0;
      return count >= 1 && count <= most ? count : undefined;
    },
    `an integer from 1 to ${most}`,
    word,
  );

/** Requests in a minute, or `plan` for the limit of the account's plan. */
export const rpmOrPlan = countOr('plan', 1_000_000);

/** Tokens in a minute, or requests at once; `none` for no limit. */
export const tpmOrNone = countOr('none', 1_000_000_000);
export const parallelOrNone = countOr('none', 1_000_000);

/** Dimensions of a report of usage. */
export const usageColumns = parsed(
  usageDimensions,
  `one or more of ${USAGE_DIMENSIONS.join(', ')} and tag:NAME, separated by commas`,
);

/** A time before now, in milliseconds since the epoch. */
export const pastTime = parsed(
  (text) => parseSince(text, Date.now()),
  'a time such as 7d, 12h or 2027-01-31',
);

const UNITS: Readonly<Record<string, number>> = {
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

const DATE = /^(\d{4})-(\d{2})-(\d{2})$/;
const DATE_TIME = /^(\d{4}-\d{2}-\d{2})T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:\d{2})$/;

/** A date, a date and time with its zone, or a duration from now on or back; undefined for any other text. */
function parseTime(text: string, now: number, direction: 1 | -1): number | undefined {
  const trimmed = text.trim();
  const [, count, unit] = /^(\d{1,10})([smhd])$/.exec(trimmed) ?? [];
  if (unit !== undefined) return now + direction * Number(count) * UNITS[unit]!;
  const date = DATE.test(trimmed) ? trimmed : DATE_TIME.exec(trimmed)?.[1];
  return date !== undefined && isDay(date) ? Date.parse(trimmed) : undefined;
}

/**
 * Parses the start of a period: a date, a date and time, or a duration before now (`7d`).
 *
 * @returns milliseconds since the epoch; undefined for any other text
 */
export const parseSince = (text: string, now: number) => parseTime(text, now, -1);

/** The last day whose year has four digits. */
const MAX_TIME = Date.UTC(9999, 11, 31);

/** Whether a day exists: `Date` reads the 30th of February as the 2nd of March. */
function isDay(date: string): boolean {
  const [, year, month, day] = DATE.exec(date)!.map(Number);
  const read = new Date(Date.UTC(year!, month! - 1, day));
  return read.getUTCMonth() === month! - 1 && read.getUTCDate() === day;
}

/**
 * Parses a time of expiry: a date (its start in UTC), a date and time with its zone (ISO 8601), or a
 * duration from now (`90d`, `12h`).
 *
 * @returns milliseconds since the epoch; undefined for any other text, and for a time in the past
 */
export function parseExpiry(text: string, now: number): number | undefined {
  const time = parseTime(text, now, 1);
  return time !== undefined && time > now && time <= MAX_TIME ? time : undefined;
}
