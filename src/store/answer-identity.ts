import { AsyncLocalStorage, AsyncResource } from 'node:async_hooks';
import { hash } from 'node:crypto';
import { newId, randomText } from './identifier.ts';

/** Time of all answers of a deterministic daemon, in seconds: 2026-01-01T00:00:00Z. */
const FIXED_SECONDS = 1_767_225_600;

/** A request whose answer has fixed identifiers. */
interface Scope {
  /** Digest of the request. */
  readonly request: string;
  /** Identifiers so far. */
  count: number;
}

const scopes = new AsyncLocalStorage<Scope>();
let isFixed = false;

/**
 * Makes the answers of this process repeatable: their times are fixed, and their identifiers follow from the request.
 * Such identifiers can be guessed, so keys, accounts, tasks and files keep random ones.
 */
export function fixAnswers(): void {
  isFixed = true;
}

/** Runs what answers a request. @param run gets the digest of the request, hexadecimal */
export function answering(request: string, run: (digest: string) => void): void {
  const digest = hash('sha256', request);
  scopes.run({ request: digest, count: 0 }, run, digest);
}

/** Lets a callback of a shared connection run for the request that passes it. */
export function forThisAnswer<Value, Result>(
  callback: (value: Value) => Result,
): (value: Value) => Result {
  return isFixed ? AsyncResource.bind(callback) : callback;
}

/** The time of an answer that begins or ends now, in seconds since the epoch. */
export function answerSeconds(): number {
  return isFixed ? FIXED_SECONDS : Math.floor(Date.now() / 1000);
}

/** An identifier in an answer: `msg_4fJ…`. */
export function answerId(prefix: string): string {
  const scope = scopes.getStore();
  return scope ? `${prefix}_${fixedText(scope, 20)}` : newId(prefix);
}

/** Letters and digits for an identifier in an answer. @param length 64 at most */
export function answerText(length: number): string {
  const scope = scopes.getStore();
  return scope ? fixedText(scope, length) : randomText(length);
}

/** A number from 0 to 1 by which a route is chosen; equal requests to a deterministic daemon get the same. */
export function answerRandom(): number {
  const scope = scopes.getStore();
  return scope ? Number.parseInt(fixedText(scope, 8), 16) / 2 ** 32 : Math.random();
}

function fixedText(scope: Scope, length: number): string {
  scope.count += 1;
  return hash('sha256', `${scope.request} ${scope.count}`).slice(0, length);
}
