import { NO_USAGE, tokensIn } from '../billing/usage.ts';
import type { TextRequest } from '../canonical/canonical.ts';
import type { Usage } from '../canonical/events.ts';
import type { Target } from '../dialects/dialect.ts';
import { dialectNamed } from '../dialects/registry.ts';
import { unsupportedSetting } from '../dialects/request-errors.ts';
import type { EmulatedAnswer, RequestEmulation, TakeEvent } from './emulation.ts';
import { LogprobQueue } from './logprob-queue.ts';
import { StopSequences } from './stop-sequences.ts';

/** Sequences of one request: each character of an answer may be compared with each of them. */
const MAX_SEQUENCES = 100;

/** Stop sequences that an upstream does not take: the gateway cuts the text, and aborts the upstream. */
export function emulateStop(request: TextRequest, { dialect }: Target): RequestEmulation | null {
  const { stop } = request;
  if (stop === null || stop.length === 0) return null;
  const { settings, stops } = dialectNamed(dialect);
  const native = settings.stop === undefined ? [] : stop.filter(isTaken);
  if (native.length === stop.length && stop.length <= (stops?.most ?? Infinity)) return null;
  if (stop.length > MAX_SEQUENCES) {
    const expected = `expected at most ${MAX_SEQUENCES} texts for the upstream of this model`;
    throw unsupportedSetting(request, 'stop', dialect, `${expected}, received ${stop.length}`);
  }
  return {
    request: { ...request, stop: null },
    filter: (answer) => stopFilter(stop, answer),
    streams: true,
  };

  function isTaken(text: string): boolean {
    return stops?.takesBlank !== false || text.trim() !== '';
  }
}

/** Ends an answer before the first stop sequence in one of its texts. */
function stopFilter(stop: readonly string[], { emit, inputTokens }: EmulatedAnswer): TakeEvent {
  const sequences = new StopSequences(stop);
  const queue = new LogprobQueue();
  /** Characters of output so far. */
  let characters = 0;
  /** What was reported so far. */
  let usage: Usage = { ...NO_USAGE, input: inputTokens };
  let hasCalls = false;
  const emitText = (block: number, text: string) => {
    const logprobs = queue.take(text.length);
    if (text === '') return;
    emit({ type: 'text-delta', block, text, ...(logprobs.length > 0 && { logprobs }) });
  };
  return (event) => {
    if (sequences.found !== null) return;
    switch (event.type) {
      case 'text-delta': {
        const { block, text, logprobs = null } = event;
        characters += text.length;
        queue.add(text, logprobs);
        emitText(block, sequences.push(text));
        const { found } = sequences;
        if (found === null) return;
        emit({ type: 'text-end', block });
        const output = Math.max(usage.output, tokensIn(characters));
        const reason = hasCalls ? 'tool-calls' : 'stop';
        usage = { ...usage, output };
        emit({ type: 'finish', reason, raw: null, stopSequence: found, usage });
        return;
      }
      case 'text-end':
        emitText(event.block, sequences.flush());
        queue.clear();
        break;
      case 'reasoning-delta':
      case 'refusal-delta':
        characters += event.text.length;
        break;
      case 'tool-delta':
        characters += event.json.length;
        break;
      case 'tool-start':
        hasCalls = true;
        break;
      case 'usage':
        usage = event.usage;
    }
    emit(event);
  };
}
