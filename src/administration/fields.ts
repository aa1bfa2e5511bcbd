import * as v from 'valibot';
import { field } from '../schema/fields.ts';
import { IMAGE_ANSWERS } from '../store/account.ts';
import { timeZoneNamed } from '../store/calendar.ts';
import { MAX_CREDITS, parseCredits } from '../store/credits.ts';
import { FEATURES } from '../store/features.ts';
import { USAGE_DIMENSIONS, usageDimensions } from '../store/usage-report.ts';
import { parseExpiry } from './expiry.ts';

/** A text that is parsed. It is invalid where `parse` returns undefined or throws. */
function parsedText<Value>(parse: (text: string) => Value | undefined) {
  return v.pipe(
    v.string(),
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
}

/** Any text on one line; not the beginning of a flag or of an account's id, and no blank at either end. */
const NAME = /^(?!acct_|[-\s])[^\p{C}\p{Zl}\p{Zp}]{0,63}[^\p{C}\s]$/u;

/** The name of a new account or key. */
export const newName = (description: string) =>
  field(v.pipe(v.string(), v.regex(NAME)), description, {
    expects: '1 to 64 characters on one line that do not begin like a flag or an id',
  });

/** Not like an id, and not the word that takes a key out of its team. */
const TEAM_NAME = /^(?!team_|none$|[-\s])[^\p{C}\p{Zl}\p{Zp}]{0,63}[^\p{C}\s]$/u;

/** The name of a new team. */
export const newTeamName = (description: string) =>
  field(v.pipe(v.string(), v.regex(TEAM_NAME)), description, {
    expects: '1 to 64 characters on one line that do not begin like a flag or an id; not none',
  });

/** A reference to an existing account or key, which the store resolves. */
const reference = (description: string, expects: string) =>
  field(v.pipe(v.string(), v.nonEmpty(), v.maxLength(512)), description, { expects });

export const accountReference = (description: string) =>
  reference(description, 'the name or the id of an account');

export const keyReference = (description: string) =>
  reference(description, 'the id of a key or its beginning, its hint, or the key itself');

export const teamReference = (description: string) =>
  reference(description, 'the name or the id of a team');

function microOf(text: string, least: string): number | undefined {
  const micro = parseCredits(text);
  return micro >= parseCredits(least) ? micro : undefined;
}

const creditsFrom = (least: string) =>
  `credits from ${least} to ${MAX_CREDITS / 1e6} with at most six decimals`;

/** Credits as a decimal; parsed to micro-credits. */
export const credits = (description: string, least: '0' | '0.000001') =>
  field(
    parsedText((text) => microOf(text, least)),
    description,
    { expects: creditsFrom(least) },
  );

/** A field of which a word removes the value, which is parsed to null. */
function removable<Value>(
  parse: (text: string) => Value | undefined,
  word: string,
  { description, expects }: { readonly description: string; readonly expects: string },
) {
  return field(
    parsedText<Value | null>((text) => (text.trim() === word ? null : parse(text))),
    description,
    { expects: `${expects}, or ${word}` },
  );
}

/** Credits, or `none` for no limit. */
export const budget = (description: string) =>
  removable((text) => microOf(text, '0.000001'), 'none', {
    description,
    expects: creditsFrom('0.000001'),
  });

/** The name of a time zone of the IANA database. */
export const timeZone = (description: string) =>
  field(parsedText(timeZoneNamed), description, {
    expects: 'the name of a time zone, as Europe/Berlin or UTC',
  });

/** A team, or `none`. */
export const teamOrNone = (description: string) =>
  removable((text) => (text !== '' && text.length <= 512 ? text : undefined), 'none', {
    description,
    expects: 'the name or the id of a team',
  });

const EXPIRY = 'a time to come, as 2027-01-31, 2027-01-31T12:00:00Z or 90d';

/** A time in the future; parsed to milliseconds since the epoch. */
export const expiry = (description: string) =>
  field(
    parsedText((text) => parseExpiry(text, Date.now())),
    description,
    { expects: EXPIRY },
  );

/** A time in the future, or `never`. */
export const expiryOrNever = (description: string) =>
  removable((text) => parseExpiry(text, Date.now()), 'never', { description, expects: EXPIRY });

const MODEL = /^[\x21-\x2b\x2d-\x7e]{1,256}$/;

function modelsIn(text: string): string[] | undefined {
  const names = [...new Set(text.split(',').map((name) => name.trim()))];
  return names.length <= 1000 && names.every((name) => MODEL.test(name)) ? names : undefined;
}

const MODELS = 'names of models with commas between them';

/** Names of models separated by commas; parsed to a list without duplicates. */
export const models = (description: string) =>
  field(parsedText(modelsIn), description, { expects: MODELS });

/** Names of models, or `all`. */
export const modelsOrAll = (description: string) =>
  removable(modelsIn, 'all', { description, expects: MODELS });

function featuresIn(text: string): string[] | undefined {
  const names = [...new Set(text.split(',').map((name) => name.trim()))];
  const isKnown = (name: string) => FEATURES.some((known) => known === name);
  return names.every(isKnown) ? names : undefined;
}

const FEATURE_NAMES = `some of ${FEATURES.join(', ')}, with commas between them`;

/** Names of features separated by commas; parsed to a list without duplicates. */
export const features = (description: string) =>
  field(parsedText(featuresIn), description, { expects: FEATURE_NAMES });

/** Names of features, or `none`. */
export const featuresOrNone = (description: string) =>
  removable(featuresIn, 'none', { description, expects: FEATURE_NAMES });

/** An answer to image requests, or `default` for that of the configuration. */
export const imageAnswerOrDefault = (description: string) =>
  removable((text) => IMAGE_ANSWERS.find((answer) => answer === text.trim()), 'default', {
    description,
    expects: `one of ${IMAGE_ANSWERS.join(', ')}`,
  });

/** Requests in a minute, or `plan` for the limit of the account's plan. */
export const rpmOrPlan = (description: string) =>
  removable(
    (text) => {
      const rpm = /^\d{1,7}$/.test(text.trim()) ? Number(text) : 0;
      return rpm >= 1 && rpm <= 1_000_000 ? rpm : undefined;
    },
    'plan',
    { description, expects: 'an integer from 1 to 1000000' },
  );

/** The name of one model in a report. */
export const modelName = (description: string) =>
  field(v.pipe(v.string(), v.nonEmpty(), v.maxLength(256)), description, {
    expects: 'the name of a model',
  });

/** Dimensions of a report of usage. */
export const usageColumns = (description: string) =>
  field(parsedText(usageDimensions), description, {
    expects: `some of ${USAGE_DIMENSIONS.join(', ')}, with commas between them`,
  });

/** A remark on one line. */
export const note = (description: string) =>
  field(v.pipe(v.string(), v.regex(/^[^\p{Cc}\p{Zl}\p{Zp}]{1,200}$/u)), description, {
    expects: '1 to 200 characters on one line',
  });
