import { Failure } from '../failure.ts';
import { isRefused } from './verdict.ts';

/**
 * Refuses a prompt that shows a minor with nudity, sexual content, or bared or emphasised sensitive
 * areas of the body.
 *
 * @throws Failure content_policy
 */
export function checkPrompt(prompt: string, param: string): void {
  if (isRefused(prompt)) throw promptRefusal(param);
}

/** The failure for a refused prompt. Its message does not repeat the prompt. */
export function promptRefusal(param: string): Failure {
  return new Failure(
    'content_policy',
    `${param} was refused: content that shows minors in a sexual or exposing way cannot be made.`,
    { code: 'content_policy', param },
  );
}
