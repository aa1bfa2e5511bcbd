import { expect } from 'vitest';
import type { Access, Answer, Content, Mode, Settings, Talk } from '../conversation.ts';
import { talkWith } from '../history.ts';
import { eventsOf } from '../raw.ts';

// biome-ignore lint/suspicious/noExplicitAny: JSON of a format without types here
type Loose = any;

/** A conversation of a client of gemini, which keeps its history as Google's SDK does. */
export function geminiTalk({ url, key }: Access, settings: Settings): Talk {
  const names = new Map<string, string>();
  return talkWith(
    {
      user: (content) => ({ role: 'user', parts: partsOf(content) }),
      results: (given) => [
        {
          role: 'user',
          parts: given.map(({ id, content }) => ({
            functionResponse: { id, name: names.get(id), response: { output: content } },
          })),
        },
      ],
      async ask(history, mode, all) {
        const answer = await ask({ url, key }, history, mode, all);
        for (const { id, name } of answer.calls) names.set(id, name);
        return answer;
      },
      answered: ({ raw }) => raw,
    },
    settings,
  );
}

function partsOf(content: string | readonly Content[]): readonly object[] {
  if (typeof content === 'string') return [{ text: content }];
  return content.map((part) => {
    if ('text' in part) return part;
    const data = /^data:([^;]+);base64,(.*)$/.exec(part.image);
    if (data) return { inlineData: { mimeType: data[1], data: data[2] } };
    return { fileData: { mimeType: 'image/jpeg', fileUri: part.image } };
  });
}

const MODES = { auto: 'AUTO', none: 'NONE', required: 'ANY' } as const;

function bodyOf(settings: Settings, contents: readonly unknown[]): Loose {
  const { system, tools, toolChoice, maxTokens, temperature, effort, schema, more } = settings;
  const functionCallingConfig =
    typeof toolChoice === 'object'
      ? { mode: 'ANY', allowedFunctionNames: [toolChoice.name] }
      : toolChoice && { mode: MODES[toolChoice] };
  const thinkingConfig = effort && { thinkingLevel: effort.toUpperCase(), includeThoughts: true };
  return {
    contents,
    ...(system !== undefined && { systemInstruction: { parts: [{ text: system }] } }),
    ...(tools && {
      tools: [
        {
          functionDeclarations: tools.map(({ parameters, ...tool }) => ({
            ...tool,
            parametersJsonSchema: parameters,
          })),
        },
      ],
    }),
    ...(functionCallingConfig && { toolConfig: { functionCallingConfig } }),
    generationConfig: {
      ...(maxTokens !== undefined && { maxOutputTokens: maxTokens }),
      ...(temperature !== undefined && { temperature }),
      ...(thinkingConfig && { thinkingConfig }),
      ...(schema && { responseMimeType: 'application/json', responseJsonSchema: schema }),
    },
    ...more,
  };
}

async function ask(
  { url, key }: Access,
  history: readonly unknown[],
  mode: Mode,
  all: Settings,
): Promise<Answer> {
  const method = mode === 'whole' ? 'generateContent' : 'streamGenerateContent?alt=sse';
  const response = await fetch(`${url}/v1beta/models/${all.model}:${method}`, {
    method: 'POST',
    headers: { 'x-goog-api-key': key, 'content-type': 'application/json' },
    body: JSON.stringify(bodyOf(all, history)),
  });
  const text = await response.text();
  if (!response.ok) {
    throw Object.assign(new Error(text), { status: response.status, ...JSON.parse(text).error });
  }
  if (mode === 'whole') return read([JSON.parse(text)], []);
  // A failure comes as JSON after the events too, since SDKs before version 2 find no other.
  const [, frames = text, last] = /^(.*\n\n|)(\{.*)$/s.exec(text) ?? [];
  const events = eventsOf(frames).map(({ data }) => data as Loose);
  // As the SDK does.
  const failed = events.find(({ error }) => error?.code >= 400 && error.code < 600);
  if (failed) {
    expect(JSON.parse(last ?? 'null')).toEqual(failed);
    throw Object.assign(new Error(text), { events, ...failed.error });
  }
  if (!events.at(-1)?.candidates[0].finishReason) throw new Error(`no end: ${text}`);
  return read(events, events);
}

function read(responses: readonly Loose[], events: readonly Loose[]): Answer {
  const contents = responses.map(({ candidates }) => candidates[0].content);
  const parts = contents.flatMap((content) => content.parts);
  const textOf = (thought: boolean) =>
    parts.map((part) => (part.thought === true) === thought && part.text).filter(Boolean);
  const last = responses.at(-1);
  const [candidate] = last.candidates;
  return {
    text: textOf(false).join(''),
    reasoning: textOf(true).join(''),
    refusal: candidate.finishMessage ?? null,
    calls: parts
      .filter(({ functionCall }) => functionCall)
      .map(({ functionCall: { id, name, args } }) => ({ id, name, arguments: args })),
    stop: candidate.finishReason,
    usage: last.usageMetadata,
    model: last.modelVersion,
    raw: contents,
    events,
  };
}
