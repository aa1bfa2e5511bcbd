import * as v from 'valibot';
import { field } from '../schema/fields.ts';
import { MAX_CREDITS, parseCredits } from '../store/credits.ts';
import { FEATURES } from '../store/features.ts';
import { parseExpiry } from './expiry.ts';

/** A text that stands for something else; `read` gives undefined, or throws, where it does not. */
function reading<Value>(read: (text: string) => Value | undefined) {
  return v.pipe(
    v.string(),
    v.rawTransform<string, Value>(({ dataset, addIssue, NEVER }) => {
      try {
        const value = read(dataset.value);
        if (value !== undefined) return value;
      } catch {
        // The phrase that the field was declared with says it all.
      }
      addIssue();
      return NEVER;
    }),
  );
}

/** Letters that need no quoting in any shell; nothing that reads as a flag, or as an account's id. */
const NAME = /^(?!acct_)[A-Za-z0-9][A-Za-z0-9._@-]{0,63}$/;

/** A name that somebody gives. */
export const newName = (description: string) =>
  field(v.pipe(v.string(), v.regex(NAME)), description, {
    expects: '1 to 64 of letters, digits, and ._-@ after the first; not like an id',
  });

/** What should tell one of those that exist; whether it does, the store knows. */
const reference = (description: string, expects: string) =>
  field(v.pipe(v.string(), v.nonEmpty(), v.maxLength(512)), description, { expects });

export const accountReference = (description: string) =>
  reference(description, 'the name or the id of an account');

export const keyReference = (description: string) =>
  reference(description, 'the id of a key or its beginning, its hint, or the key itself');

/** Credits as people write them; gives micro-credits. */
export const credits = (description: string, least: '0' | '0.000001') =>
  field(
    reading((text) => {
      const micro = parseCredits(text);
      return micro >= parseCredits(least) ? micro : undefined;
    }),
    description,
    { expects: `credits from ${least} to ${MAX_CREDITS / 1e6} with at most six decimals` },
  );

/** A time to come; gives milliseconds since 1970. */
export const expiry = (description: string) =>
  field(
    reading((text) => parseExpiry(text, Date.now())),
    description,
    { expects: 'a time to come, as 2027-01-31, 2027-01-31T12:00:00Z or 90d' },
  );

const MODEL = /^[\x21-\x2b\x2d-\x7e]{1,256}$/;

/** Names of models between commas; gives each once. */
export const models = (description: string) =>
  field(
    reading((text) => {
      const names = [...new Set(text.split(',').map((name) => name.trim()))];
      return names.length <= 1000 && names.every((name) => MODEL.test(name)) ? names : undefined;
    }),
    description,
    { expects: 'names of models with commas between them' },
  );

/** Names of features between commas; gives each once. */
export const features = (description: string) =>
  field(
    reading((text) => {
      const names = [...new Set(text.split(',').map((name) => name.trim()))];
      const isKnown = (name: string) => FEATURES.some((known) => known === name);
      return names.every(isKnown) ? names : undefined;
    }),
    description,
    { expects: `some of ${FEATURES.join(', ')}, with commas between them` },
  );

/** A remark for people, on one line. */
export const note = (description: string) =>
  field(v.pipe(v.string(), v.regex(/^[^\p{Cc}\p{Zl}\p{Zp}]{1,200}$/u)), description, {
    expects: '1 to 200 characters on one line',
  });
