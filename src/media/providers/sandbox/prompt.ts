import { FAILURE_TYPES, Failure, type FailureType } from '../../../failure.ts';
import {
  choice,
  count,
  type Directive,
  delay,
  failureOf,
  flag,
  readDirectives,
} from '../../../routing/directives.ts';
import type { AbortSignalLike } from '../../../upstream/abort-signal.ts';
import type { MediaUsage } from '../../result.ts';
import type { Workshop } from '../provider.ts';

const size: Directive<string> = {
  expects: 'a size such as 100x100',
  read: (value) => (/^[1-9]\d{0,3}x[1-9]\d{0,3}$/.test(value) ? value : null),
};

const KNOWN = {
  fail: choice<FailureType>(FAILURE_TYPES),
  delay,
  /** Fewer than were asked for. */
  partial: count(10),
  /** Another size than was asked for. */
  size,
  /** Nothing that could be shown. */
  garbage: flag,
};

export type Mischief = ReturnType<typeof readMischief>;

function readMischief(text: string, path: string) {
  return readDirectives([{ text, path }], KNOWN);
}

/**
 * Waits and fails as a prompt wants it, and tells what else it wants.
 *
 * @param path where the prompt stands in the request
 * @throws Failure
 */
export async function obey(text: string, path: string, signal: AbortSignalLike): Promise<Mischief> {
  const mischief = readMischief(text, path);
  if (mischief.delay !== undefined) await pause(mischief.delay, signal);
  if (signal.aborted) throw signal.reason;
  if (mischief.fail !== undefined) throw failureOf(mischief.fail);
  return mischief;
}

async function pause(milliseconds: number, signal: AbortSignalLike): Promise<void> {
  if (signal.aborted) return;
  await new Promise<void>((resolve) => {
    const leave = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', leave);
      resolve();
    };
    const timer = setTimeout(leave, milliseconds);
    signal.addEventListener('abort', leave);
  });
}

/** @throws Failure where the configuration names a model that the sandbox does not have */
export function expectModel({ model }: Workshop, expected: string): void {
  if (model === expected) return;
  throw new Failure(
    'service_error',
    `the sandbox has no model ${JSON.stringify(model)} for this; it has ${expected}`,
    { code: 'unknown_sandbox_model' },
  );
}

/** What a prompt and its answer would have been in tokens. @param output tokens */
export function usageOf(prompt: string, inputs: number, output: number): MediaUsage {
  const input = Math.ceil(prompt.length / 4) + inputs * 256;
  return {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
    input_tokens: input,
    output_tokens: output,
    cached_input_tokens: 0,
  };
}

/** What `sandbox:garbage` gives: a page, as of a server that is down. */
export const GARBAGE = Buffer.from(
  '<!DOCTYPE html><title>The sandbox was asked for garbage</title>',
);
