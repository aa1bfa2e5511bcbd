import { describe, expect, it } from 'vitest';
import type { TextModel, TextRoute } from '../../../src/config/catalog/catalog.ts';
import { Failure } from '../../../src/failure.ts';
import '../../../src/text/built-in-dialects.ts';
import { fieldRows } from '../../../src/text/dialects/field-rows.ts';
import { Inspection } from '../../../src/text/dialects/inspection.ts';
import { dialectNamed } from '../../../src/text/dialects/registry.ts';
import { refusalOf } from '../../../src/text/dialects/request-errors.ts';
import { HostedTools } from '../../../src/text/policy/hosted-tools.ts';
import { encodeFor } from '../../../src/text/policy/unsupported.ts';
import { requestsIn } from '../requests.ts';

// biome-ignore lint/suspicious/noExplicitAny: bodies of several formats
type Loose = any;

const FORMATS = ['chat', 'responses', 'messages', 'gemini'] as const;
type Format = (typeof FORMATS)[number];

/** The smallest request of each format. */
const PLAIN: Readonly<Record<Format, object>> = {
  chat: { model: 'm', messages: [{ role: 'user', content: 'Hi' }] },
  responses: { model: 'm', input: 'Hi' },
  messages: { model: 'm', max_tokens: 9000, messages: [{ role: 'user', content: 'Hi' }] },
  gemini: { contents: [{ role: 'user', parts: [{ text: 'Hi' }] }] },
};

/** Values that every request has, or that only belong to another field's. */
const ELSEWHERE = new Set([
  ...['model', 'messages', 'input', 'contents', 'stream', 'stream_options', 'max_tokens'],
  ...['stream_options.include_usage', 'thinking.type', 'toolConfig.functionCallingConfig.mode'],
  ...['systemInstruction.role', 'systemInstruction.parts'],
]);

type Samples = Readonly<Record<Format, Readonly<Record<string, object>>>>;

/** Values of fields, with what these need beside them. Fields that only one format has need none. */
const VALUES = requestsIn<Samples>('fields');

/** Fields within lists, by what they are. */
const LISTS = requestsIn<Samples>('nested-fields');

interface Policies {
  readonly onUnsupported?: 'refuse' | 'drop';
  readonly hosted?: 'refuse' | 'drop';
}

/** Whoever wants nothing dropped. */
const STRICT: Policies = { onUnsupported: 'refuse', hosted: 'refuse' };

/** Translates a request as a route does. */
function translate(
  client: Format,
  to: Format,
  more: object,
  { onUnsupported, hosted: policy }: Policies,
) {
  const { decodeRequest, fields } = dialectNamed(client);
  const body: Loose = structuredClone({ ...PLAIN[client], ...more });
  const request = decodeRequest(body, { model: 'm', stream: false });
  const inspection = new Inspection();
  fields.check(request.body, inspection, request.body);
  const model = { tools: { hosted: policy } } as TextModel;
  const hosted = HostedTools.of(request, inspection, model, 'm');
  const left = hosted?.withoutNative(request, (part) => refusalOf(part, to));
  const target = {
    ...{ dialect: to, provider: 'p', model: to === 'gemini' ? 'gemini-3-pro' : 'up', rules: null },
    ...{ reasons: true, maxOutputTokens: null },
  };
  const route = { onUnsupported } as TextRoute;
  const encoded = encodeFor(left?.request ?? request, target, { route, model, id: 'm' });
  return { ...encoded, dropped: [...(left?.dropped ?? []), ...encoded.dropped] };
}

/** The refusal of a request; null for one that is translated. Anything else is a defect. */
function refusalFor(...call: Parameters<typeof translate>): Failure | null {
  try {
    translate(...call);
    return null;
  } catch (error) {
    if (error instanceof Failure) return error;
    throw error;
  }
}

/** Fields with a meaning of a format, each in a request of its own. */
function samplesOf(client: Format): readonly (readonly [string, object])[] {
  const rows = fieldRows(dialectNamed(client).fields).filter(
    ({ class: kind, path, types }) =>
      VALUES[client][path] !== undefined ||
      (kind !== 'advice' && !types && !/\[\]|^tool_choice\./.test(path) && !ELSEWHERE.has(path)),
  );
  const fields = rows.map(({ path, upstreams }) => {
    const value = VALUES[client][path];
    if (value !== undefined) return [path, value] as const;
    if (upstreams === 'all') throw new Error(`no value for ${client}: ${path}`);
    const [first = '', second] = path.split('.');
    return [path, { [first]: second === undefined ? 'x' : { [second]: 'x' } }] as const;
  });
  return [...fields, ...Object.entries(LISTS[client])];
}

const PAIRS = FORMATS.flatMap((client) =>
  FORMATS.filter((to) => to !== client).map((to) => [client, to] as const),
);

/** Whether a failure is that of a request which no upstream could be sent. */
const isInvalid = ({ code }: Failure) => code !== 'not_supported_by_model';

describe.each(PAIRS)('a request of %s for an upstream of %s', (client, to) => {
  const samples = samplesOf(client);

  it.each(samples)('%s: is translated, or refused by path, format and remedy', (path, body) => {
    const failure = refusalFor(client, to, body, STRICT);
    if (failure === null) return;
    expect(failure).toMatchObject({ type: 'invalid_request', status: 400 });
    const { param, message } = failure;
    expect(Object.keys(body)).toContain(param!.split(/[.[]/)[0]!);
    if (path.includes('.')) expect(path).toContain(param!.replace(/\[\d+\]/g, '[]').split('.')[0]);
    expect(message.startsWith(`${param}: `)).toBe(true);
    if (isInvalid(failure)) return;
    expect(message).toMatch(
      /of this model's upstream|this upstream|the upstream of this model|this provider|the arguments/,
    );
    expect(message).toMatch(/models\.m\.(?:onUnsupported: \[|tools\.hosted: drop)|never left out/);
  });

  it.each(samples)('%s: is dropped and named, or its refusal says why not', (_, body) => {
    const refused = refusalFor(client, to, body, STRICT);
    const drop = { onUnsupported: 'drop', hosted: 'drop' } as const;
    const failure = refusalFor(client, to, body, drop);
    if (failure !== null) {
      if (!isInvalid(failure)) expect(failure.message).toContain('never left out');
      return;
    }
    const { dropped } = translate(client, to, body, drop);
    expect(dropped.length > 0).toBe(refused !== null);
    if (refused !== null) expect(dropped).toContain(refused.param);
  });

  it('of its hints are dropped and named by default', () => {
    const hints = fieldRows(dialectNamed(client).fields).filter(
      (row) => row.class === 'hint' && !row.path.includes('[]'),
    );
    expect(hints.length).toBeGreaterThan(2);
    for (const { path } of hints) {
      const [, body] = samples.find(([name]) => name === path)!;
      const { dropped } = translate(client, to, body, {});
      expect(dropped).toEqual(refusalFor(client, to, body, STRICT) === null ? [] : [path]);
    }
  });

  it('two of them at once are dropped and named', () => {
    const drop = { onUnsupported: 'drop', hosted: 'drop' } as const;
    // Of two settings of reasoning one counts.
    const droppable = samples.filter(
      ([path, body]) =>
        !/^(?:thinking|output_config|reasoning)/.test(path) &&
        refusalFor(client, to, body, STRICT) &&
        !refusalFor(client, to, body, drop),
    );
    for (const [index, [, first]] of droppable.entries()) {
      const [, second] = droppable[(index + 1) % droppable.length]!;
      const both = { ...first, ...second };
      const names = translate(client, to, both, drop).dropped;
      for (const name of Object.keys(both)) {
        const alone = { [name]: (both as Loose)[name] };
        const param = refusalFor(client, to, alone, STRICT)?.param;
        if (param) expect(names).toContain(param);
      }
    }
  });
});
