import type { Access, Answer, Mode, Settings, Talk } from '../conversation.ts';
import { talkWith } from '../history.ts';
import { eventsOf } from '../raw.ts';

// biome-ignore lint/suspicious/noExplicitAny: JSON of a format without types
type Loose = any;

/** A conversation of a client of the toy format with the gateway. */
export function toyTalk({ url, key }: Access, settings: Settings): Talk {
  return talkWith(
    {
      user: (content) => ({ who: 'user', words: content }),
      results: (given) => [
        { who: 'user', results: given.map(({ id, content }) => ({ id, words: content })) },
      ],
      ask: (history, mode, all) => ask({ url, key }, history, { mode, all }),
      answered: ({ raw }) => [raw],
    },
    settings,
  );
}

async function ask(
  { url, key }: Access,
  history: readonly unknown[],
  { mode, all }: { readonly mode: Mode; readonly all: Settings },
): Promise<Answer> {
  const { model, system, tools, maxTokens, temperature } = all;
  const way = mode === 'whole' ? 'whole' : 'stream';
  const response = await fetch(`${url}/toy/${model}/${way}`, {
    method: 'POST',
    headers: { 'toy-key': key, 'content-type': 'application/json' },
    body: JSON.stringify({
      said: [...(system === undefined ? [] : [{ who: 'rules', words: system }]), ...history],
      ...(maxTokens !== undefined && { limit: maxTokens }),
      ...(temperature !== undefined && { warmth: temperature }),
      ...(tools && {
        tools: tools.map((tool) => ({
          name: tool.name,
          about: tool.description,
          shape: tool.parameters,
        })),
      }),
    }),
  });
  const text = await response.text();
  if (!response.ok) {
    throw Object.assign(new Error(text), { status: response.status, body: JSON.parse(text) });
  }
  if (mode === 'whole') {
    const { said, ...rest } = JSON.parse(text);
    return read(said, rest, []);
  }
  const events = eventsOf(text).map(({ data }) => data as Loose);
  const last = events.at(-1);
  if (last.why === undefined) throw Object.assign(new Error(text), { events });
  return read(events.slice(0, -1), last, events);
}

function read(pieces: readonly Loose[], end: Loose, events: readonly Loose[]): Answer {
  const joined = (name: string) => pieces.map((piece) => piece[name] ?? '').join('');
  const calls = pieces.flatMap(({ call }) => (call === undefined ? [] : [call]));
  const [words, thoughts] = [joined('words'), joined('thoughts')];
  return {
    text: words,
    reasoning: thoughts,
    refusal: null,
    calls: calls.map(({ id, name, input }) => ({ id, name, arguments: input })),
    stop: end.why,
    usage: end.count,
    model: end.by,
    raw: {
      who: 'model',
      ...(words !== '' && { words }),
      ...(thoughts !== '' && { thoughts }),
      ...(calls.length > 0 && { calls }),
    },
    events,
  };
}
