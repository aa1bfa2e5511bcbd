import * as v from 'valibot';
import { field } from '../schema/fields.ts';
import { MAX_CREDITS, parseCredits } from '../store/credits.ts';
import { FEATURES } from '../store/features.ts';
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

/** Characters that need no quoting in any shell; not the beginning of a flag or of an account's id. */
const NAME = /^(?!acct_)[A-Za-z0-9][A-Za-z0-9._@-]{0,63}$/;

/** The name of a new account or key. */
export const newName = (description: string) =>
  field(v.pipe(v.string(), v.regex(NAME)), description, {
    expects: '1 to 64 of letters, digits, and ._-@ after the first; not like an id',
  });

/** A reference to an existing account or key, which the store resolves. */
const reference = (description: string, expects: string) =>
  field(v.pipe(v.string(), v.nonEmpty(), v.maxLength(512)), description, { expects });

export const accountReference = (description: string) =>
  reference(description, 'the name or the id of an account');

export const keyReference = (description: string) =>
  reference(description, 'the id of a key or its beginning, its hint, or the key itself');

/** Credits as a decimal; parsed to micro-credits. */
export const credits = (description: string, least: '0' | '0.000001') =>
  field(
    parsedText((text) => {
      const micro = parseCredits(text);
      return micro >= parseCredits(least) ? micro : undefined;
    }),
    description,
    { expects: `credits from ${least} to ${MAX_CREDITS / 1e6} with at most six decimals` },
  );

/** A time in the future; parsed to milliseconds since the epoch. */
export const expiry = (description: string) =>
  field(
    parsedText((text) => parseExpiry(text, Date.now())),
    description,
    { expects: 'a time to come, as 2027-01-31, 2027-01-31T12:00:00Z or 90d' },
  );

const MODEL = /^[\x21-\x2b\x2d-\x7e]{1,256}$/;

/** Names of models separated by commas; parsed to a list without duplicates. */
export const models = (description: string) =>
  field(
    parsedText((text) => {
      const names = [...new Set(text.split(',').map((name) => name.trim()))];
      return names.length <= 1000 && names.every((name) => MODEL.test(name)) ? names : undefined;
    }),
    description,
    { expects: 'names of models with commas between them' },
  );

/** Names of features separated by commas; parsed to a list without duplicates. */
export const features = (description: string) =>
  field(
    parsedText((text) => {
      const names = [...new Set(text.split(',').map((name) => name.trim()))];
      const isKnown = (name: string) => FEATURES.some((known) => known === name);
      return names.every(isKnown) ? names : undefined;
    }),
    description,
    { expects: `some of ${FEATURES.join(', ')}, with commas between them` },
  );

/** A remark on one line. */
export const note = (description: string) =>
  field(v.pipe(v.string(), v.regex(/^[^\p{Cc}\p{Zl}\p{Zp}]{1,200}$/u)), description, {
    expects: '1 to 200 characters on one line',
  });
