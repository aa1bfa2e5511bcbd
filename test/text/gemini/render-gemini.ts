import { type Frame, piecesOf, type Script, type Step, type Stop, stopOf } from '../script.ts';

type Json = Readonly<Record<string, unknown>>;

const REASONS: Readonly<Record<Stop, string | null>> = {
  stop: 'STOP',
  length: 'MAX_TOKENS',
  'tool-calls': 'STOP',
  refusal: 'SAFETY',
  'stop-sequence': 'STOP',
  missing: null,
};

export const GEMINI_ERROR = {
  error: { code: 500, message: 'The upstream broke down midway', status: 'INTERNAL' },
};

/**
 * The parts of an answer: the signature of a reasoning step is on the part after it, as Google writes it, or
 * on an empty text at the end.
 */
function partsOf(steps: readonly Step[], isStreamed: boolean): (Json | Frame)[] {
  const parts: (Json | Frame)[] = [];
  let signature: string | undefined;
  const signed = (part: Json): Json => {
    const own = signature === undefined ? part : { ...part, thoughtSignature: signature };
    signature = undefined;
    return own;
  };
  const textsOf = (text: string, pieces: readonly string[] | undefined) =>
    isStreamed ? piecesOf(text, pieces) : [text];
  for (const step of steps) {
    if ('reasoning' in step) {
      for (const text of textsOf(step.reasoning, step.pieces)) {
        if (text !== '') parts.push({ text, thought: true });
      }
      signature = step.signature;
    } else if ('text' in step) {
      const texts = textsOf(step.text, step.pieces);
      for (const [index, text] of texts.entries()) {
        const isLast = index === texts.length - 1;
        const about = step.logprobs && index === 0 ? { logprobs: step.logprobs } : {};
        parts.push({ ...(isLast ? signed({ text }) : { text }), ...about });
      }
    } else if ('call' in step) {
      const args = JSON.parse(step.arguments || '{}') as unknown;
      const id = step.id === '' ? {} : { id: step.id };
      parts.push(signed({ functionCall: { ...id, name: step.call, args } }));
    } else if ('frames' in step) {
      if (isStreamed) parts.push(...step.frames.map((data) => ({ data })));
      else if (step.block !== undefined) parts.push(step.block as Json);
    } else if ('wait' in step || 'fail' in step || 'comment' in step) {
      if (isStreamed) parts.push(step);
    }
  }
  if (signature !== undefined) parts.push(signed({ text: '' }));
  return parts;
}

function usageOf({ usage }: Script): Json {
  if (usage === null || usage === undefined) return {};
  const { input, output, cached, reasoning } = usage;
  return {
    usageMetadata: {
      promptTokenCount: input,
      ...(cached !== undefined && { cachedContentTokenCount: cached }),
      candidatesTokenCount: output - (reasoning ?? 0),
      ...(reasoning !== undefined && { thoughtsTokenCount: reasoning }),
      totalTokenCount: input + output,
      promptTokensDetails: [{ modality: 'TEXT', tokenCount: input }],
    },
  };
}

function about(script: Script, model: string): Json {
  return { modelVersion: script.model ?? model, responseId: 'upstreamResponse0001' };
}

function endOf(script: Script): Json {
  const refusal = (script.steps ?? []).find((step) => 'refusal' in step);
  const stop = refusal ? 'refusal' : stopOf(script);
  const reason = script.stopSequence ?? REASONS[stop];
  return {
    ...(reason !== null && { finishReason: reason }),
    ...(refusal && { finishMessage: refusal.refusal }),
  };
}

/** The responses of a stream, as Google writes them: each has the model, the last one the reason. */
export function geminiFrames(script: Script, model: string): Frame[] {
  const frames = partsOf(script.steps ?? [], true).map((part): Frame => {
    const isFrame = 'data' in part || 'wait' in part || 'fail' in part || 'comment' in part;
    if (isFrame) return part as Frame;
    const { logprobs, ...own } = part as Json;
    const content = { role: 'model', parts: [own] };
    const tokens = logprobs === undefined ? {} : { logprobsResult: logprobs };
    return { data: { candidates: [{ content, index: 0, ...tokens }], ...about(script, model) } };
  });
  const last = {
    candidates: [{ content: { role: 'model', parts: [{ text: '' }] }, index: 0, ...endOf(script) }],
    ...usageOf(script),
    ...about(script, model),
  };
  return [...frames, { data: last }];
}

/** The response that is not streamed. */
export function geminiAnswer(script: Script, model: string): object {
  const parts = partsOf(script.steps ?? [], false) as Json[];
  const logprobs = parts.find((part) => 'logprobs' in part)?.['logprobs'];
  return {
    candidates: [
      {
        content: { role: 'model', parts: parts.map(({ logprobs: _, ...part }) => part) },
        index: 0,
        ...(logprobs !== undefined && { logprobsResult: logprobs }),
        ...endOf(script),
      },
    ],
    ...usageOf(script),
    ...about(script, model),
  };
}
