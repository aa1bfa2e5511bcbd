import '../../src/text/built-in-dialects.ts';
import { Failure } from '../../src/failure.ts';
import type { Part, TextRequest, Turn } from '../../src/text/canonical/canonical.ts';
import type { Target } from '../../src/text/dialects/dialect.ts';
import { noSettings } from '../../src/text/dialects/field-table.ts';

/** A request with default settings. */
export function textRequest(request: Partial<TextRequest> = {}): TextRequest {
  return {
    dialect: 'chat',
    body: {},
    model: 'some-model',
    stream: false,
    includeUsage: false,
    turns: [],
    tools: [],
    native: [],
    advice: [],
    ...noSettings(),
    ...request,
  };
}

export function turn(role: Turn['role'], parts: readonly Part[], rest: Partial<Turn> = {}): Turn {
  return { path: 'messages[0]', role, parts, name: null, partial: false, tools: null, ...rest };
}

/** A route to an upstream of a dialect. */
export function target(dialect: string, more: Partial<Target> = {}): Target {
  return {
    dialect,
    provider: 'some-provider',
    model: 'upstream-model',
    rules: null,
    reasons: false,
    maxOutputTokens: null,
    ...more,
  };
}

/** The failure of a call. */
export function failureOf(run: () => unknown): Failure {
  try {
    run();
  } catch (error) {
    if (error instanceof Failure) return error;
    throw error;
  }
  throw new Error('it was accepted');
}
