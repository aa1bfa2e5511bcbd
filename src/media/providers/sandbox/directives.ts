import { codedFailure } from '../../../failure.ts';
import {
  COMMON_DIRECTIVES,
  count,
  type Directive,
  flag,
  obeyDirectives,
  readDirectives,
} from '../../../routing/directives.ts';
import { usageOf } from '../../provider/output-files.ts';
import type { ProviderContext } from '../../provider/provider.ts';
import type { MediaUsage } from '../../task/task-request.ts';

const size: Directive<string> = {
  expects: 'a size such as 100x100',
  read: (value) => (/^[1-9]\d{0,3}x[1-9]\d{0,3}$/.test(value) ? value : null),
};

const DIRECTIVES = {
  ...COMMON_DIRECTIVES,
  /** Number of images, where fewer than requested. */
  partial: count(10),
  /** Size, where another than requested. */
  size,
  /** Output that is no media. */
  garbage: flag,
};

/**
 * Waits and fails as a prompt's directives say, and returns the other directives.
 *
 * @param path of the prompt in the request
 * @throws Failure
 */
export async function applyDirectives(text: string, path: string, signal: AbortSignal) {
  const directives = readDirectives([{ text, path }], DIRECTIVES);
  await obeyDirectives(directives, signal);
  return directives;
}

/** @throws Failure where the configuration names a model that the sandbox does not have */
export function expectModel({ model }: ProviderContext, expected: string): void {
  if (model === expected) return;
  throw codedFailure(
    'unknown_sandbox_model',
    `the sandbox has no model ${JSON.stringify(model)} for this; it has ${expected}`,
  );
}

/** Estimated usage of a prompt, its input images and its output. @param output tokens */
export function estimateUsage(prompt: string, inputs: number, output: number): MediaUsage | null {
  const input = Math.ceil(prompt.length / 4) + inputs * 256;
  return usageOf({ input_tokens: input, output_tokens: output });
}

/** The output for `sandbox:garbage`: an HTML page, as of a server that is down. */
export const GARBAGE = Buffer.from(
  '<!DOCTYPE html><title>The sandbox was asked for garbage</title>',
);
