import { screenPrompt as screenText } from '../../safety/prompt-screening.ts';
import { type TaskRequest, voiceName } from '../task/task-request.ts';
import type { Stage } from './stage.ts';

/** Checks all text that a provider may read by the rules for prompts. */
export const screenPrompt: Stage = async ({ call, request, validated }, { textThreads }) => {
  const threads = textThreads.forClient(call.holder.account.id);
  const param = validated.fieldNames['prompt'] ?? 'prompt';
  const texts = [request.prompt, ...otherTexts(request)].filter((text) => text != null);
  await screenText(threads, texts.join('\n'), param);
};

/** The free-form size, or voice and instructions. */
function otherTexts(request: TaskRequest): readonly (string | null | undefined)[] {
  if (request.type !== 'audio') return [request.size];
  return [request.voice && voiceName(request.voice), request.instructions];
}
