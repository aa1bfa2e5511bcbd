import { Failure } from '../../failure.ts';
import { failureOf } from '../../routing/directives.ts';
import type { FinishReason, NativePart, TextEvent, TextRequest, Usage } from '../canonical.ts';
import type { Target } from '../dialects/dialect.ts';
import { invalid, untranslatable } from '../dialects/request-errors.ts';
import { pathOf } from '../dialects/request-settings.ts';
import { type Directives, directivesOf } from './directives.ts';
import { countInput } from './input-tokens.ts';
import { type Prompt, readPrompt } from './prompt.ts';
import { StopSequences } from './stop-sequences.ts';
import { countTokens, firstTokens, type Piece, piecesOf } from './tokens.ts';
import { callsFor } from './tool-calls.ts';
import { answerFor, type Model, OPENING, REFUSAL, reasoningFor } from './words.ts';

/** Nothing happens for so many milliseconds, or until the client leaves. */
interface Pause {
  readonly type: 'pause';
  readonly milliseconds: number;
}

/** Stop sequences of one request. */
const STOPS = 100;

/** What happens while the sandbox answers, one thing after another. */
export type Step = TextEvent | Pause;

/**
 * Plays the answer to a request. It is made while it is played, so that a long one takes no room.
 *
 * @throws Failure where there is no answer; nothing but a pause came before
 */
export function* scriptFor(request: TextRequest, target: Target): Generator<Step> {
  const model = modelOf(target);
  refuseForeign(request, target);
  const prompt = readPrompt(request);
  const directives = directivesOf(prompt.texts);
  const { delay, fail, refuse } = directives;
  if (delay > 0) yield { type: 'pause', milliseconds: delay };
  if (fail === 'midstream' || fail === 'hang' || fail === 'truncate') {
    return yield* accident(fail, new Answer(request, target));
  }
  if (fail !== null) throw failureOf(fail);
  const answer = new Answer(request, target);
  const content = refuse ? null : contentFor(request, prompt, directives);
  yield* answer.start();
  yield* answer.say('reasoning', [reasoningFor(request, model, prompt)]);
  if (content === null) yield* answer.say('refusal', [REFUSAL]);
  else {
    for (const call of content.calls) yield* answer.call(call);
    yield* answer.say('text', content.texts);
  }
  yield answer.finish(content === null ? 'refusal' : 'stop');
}

/** Found before anything is said, so that what is wrong with the request can still be told. */
function contentFor(request: TextRequest, prompt: Prompt, { repeat }: Directives) {
  const calls = callsFor(request, prompt);
  return { calls, texts: calls.length > 0 ? [] : answerFor(request, prompt, repeat) };
}

function modelOf({ model }: Target): Model {
  if (model === 'chat' || model === 'reasoner') return model;
  throw new Failure(
    'service_error',
    `the sandbox has no text model ${JSON.stringify(model)}; it has chat and reasoner`,
    { code: 'unknown_sandbox_model' },
  );
}

/** Refuses what only a real provider can do. */
function refuseForeign(request: TextRequest, { dialect }: Target): void {
  const { native, tools, turns, toolChoice } = request;
  const parts = turns.flatMap((turn) => [...turn.parts, ...(turn.tools ?? [])]);
  const foreign = [...native, ...tools, ...parts].find(
    (part): part is NativePart => part.type === 'native',
  );
  const path =
    toolChoice?.type === 'native' ? pathOf(request, 'toolChoice') : (foreign?.path ?? null);
  if (path !== null) throw untranslatable(path, dialect, 'the sandbox cannot do this');
  if (request.logprobs === true) {
    throw invalid(pathOf(request, 'logprobs'), 'the sandbox has no probabilities to tell');
  }
  // Each character of an answer is compared with each of them.
  const stops = request.stop?.length ?? 0;
  if (stops > STOPS) {
    throw invalid(
      pathOf(request, 'stop'),
      `expected at most ${STOPS} texts for the sandbox, received ${stops}`,
    );
  }
}

function* accident(accident: 'midstream' | 'hang' | 'truncate', answer: Answer): Generator<Step> {
  yield* answer.start();
  yield* answer.say('text', [OPENING], true);
  if (accident === 'hang') for (;;) yield { type: 'pause', milliseconds: 60_000 };
  if (accident === 'midstream') {
    throw new Failure('service_error', 'the sandbox was asked to fail after some text', {
      code: 'sandbox_failure',
    });
  }
  throw new Failure('network_error', 'the sandbox was asked to end without an end', {
    code: 'stream_truncated',
  });
}

function* piecesOfAll(texts: Iterable<string>): Generator<Piece> {
  for (const text of texts) yield* piecesOf(text);
}

/** An answer under way: what it has said, and whether it may say more. */
class Answer {
  readonly #input: number;
  readonly #limit: number;
  readonly #stop: readonly string[];
  #block = 0;
  #output = 0;
  #reasoning = 0;
  #calls = 0;
  /** Why it may say no more. */
  #ended: { readonly reason: 'length' | 'stop'; readonly stopSequence: string | null } | null =
    null;

  constructor(request: TextRequest, { maxOutputTokens }: Target) {
    this.#input = countInput(request);
    this.#limit = Math.min(
      request.maxOutputTokens ?? Number.POSITIVE_INFINITY,
      maxOutputTokens ?? Number.POSITIVE_INFINITY,
    );
    this.#stop = request.stop ?? [];
  }

  *start(): Generator<TextEvent> {
    yield { type: 'start', id: null, model: null };
    yield { type: 'usage', usage: this.#usage() };
  }

  #usage(): Usage {
    return {
      input: this.#input,
      output: this.#output,
      cachedInput: 0,
      cacheWrite: 0,
      reasoning: this.#reasoning,
    };
  }

  /**
   * A block of words.
   *
   * @param broken whether the block is left without its end
   */
  *say(kind: 'reasoning' | 'text' | 'refusal', texts: Iterable<string>, broken = false) {
    const block = this.#block;
    let begun = false;
    for (const text of this.#allowed(kind, texts)) {
      if (text === '') continue;
      if (!begun) yield { type: `${kind}-start`, block } as const;
      begun = true;
      yield { type: `${kind}-delta`, block, text } as const;
    }
    if (!begun) return;
    this.#block += 1;
    if (broken) return;
    if (kind === 'reasoning') yield { type: 'reasoning-end', block, signature: null } as const;
    else yield { type: `${kind}-end`, block } as const;
  }

  /** As much of some texts as the limit and the stop sequences let through, word by word. */
  *#allowed(kind: 'reasoning' | 'text' | 'refusal', texts: Iterable<string>): Generator<string> {
    const stop = new StopSequences(kind === 'text' ? this.#stop : []);
    for (const piece of piecesOfAll(texts)) {
      if (this.#ended) break;
      const left = this.#limit - this.#output;
      const cut = piece.tokens > left;
      this.#count(kind, cut ? left : piece.tokens);
      yield stop.push(cut ? firstTokens(piece.text, left) : piece.text);
      if (cut) this.#ended = { reason: 'length', stopSequence: null };
      if (stop.found !== null) this.#ended = { reason: 'stop', stopSequence: stop.found };
    }
    if (stop.found === null) yield stop.rest();
  }

  #count(kind: string, tokens: number): void {
    this.#output += tokens;
    if (kind === 'reasoning') this.#reasoning += tokens;
  }

  /** A call of a tool, or none where no room is left for all of it: half a call is of no use. */
  *call({ id, name, arguments: json }: { id: string; name: string; arguments: string }) {
    const tokens = countTokens(name) + countTokens(json);
    if (this.#ended) return;
    if (tokens > this.#limit - this.#output) {
      this.#ended = { reason: 'length', stopSequence: null };
      return;
    }
    this.#output += tokens;
    this.#calls += 1;
    const block = this.#block;
    this.#block += 1;
    yield { type: 'tool-start', block, id, name } as const;
    for (const { text } of piecesOf(json)) yield { type: 'tool-delta', block, json: text } as const;
    yield { type: 'tool-end', block } as const;
  }

  finish(reason: 'stop' | 'refusal'): TextEvent {
    const whole: FinishReason = this.#calls > 0 ? 'tool-calls' : reason;
    return {
      type: 'finish',
      reason: this.#ended?.reason ?? whole,
      raw: null,
      stopSequence: this.#ended?.stopSequence ?? null,
      usage: this.#usage(),
    };
  }
}
