import { describe, expect, it } from 'vitest';
import type { TextModel } from '../../../src/config/catalog.ts';
import { EFFORTS, type Effort } from '../../../src/config/models.ts';
import { Failure } from '../../../src/failure.ts';
import type { Part, ReasoningRequest, TextRequest } from '../../../src/text/canonical.ts';
import { applyRules } from '../../../src/text/policy/rules.ts';
import { textRequest, turn } from '../request.ts';

const PLAIN: TextModel = {
  type: 'text',
  ownedBy: 'oriel',
  routes: [{ provider: 'some', model: 'upstream', priority: 1 }],
  price: { input: 0, output: 0 },
};
const REASONER: TextModel = {
  ...PLAIN,
  reasoning: {
    supported_efforts: ['none', 'low', 'medium', 'high', 'xhigh'],
    default_effort: 'medium',
    can_disable: true,
  },
};
const FIXED: TextModel = { ...PLAIN, rules: 'fixed-reasoning' };

const reasoning = (request: Partial<ReasoningRequest>): ReasoningRequest => ({
  effort: null,
  budget: null,
  summary: null,
  ...request,
});

function refusal(request: Partial<TextRequest>, model: TextModel): Failure {
  try {
    applyRules(textRequest(request), 'some-model', model, 16_384);
  } catch (error) {
    if (error instanceof Failure) return error;
    throw error;
  }
  throw new Error('the request was let through');
}

const ruled = (request: Partial<TextRequest>, model: TextModel) =>
  applyRules(textRequest(request), 'some-model', model, 16_384);

describe('the effort of reasoning', () => {
  const ask = (effort: Effort): Partial<TextRequest> => ({
    body: { reasoning_effort: effort },
    reasoning: reasoning({ effort }),
  });

  it.each(EFFORTS)('%s is let through where the catalog has it, else refused by name', (effort) => {
    const supported = REASONER.reasoning!.supported_efforts;
    if (supported.includes(effort)) {
      const { request, turned } = ruled(ask(effort), REASONER);
      expect(request.reasoning?.effort).toBe(effort);
      expect(turned).toEqual([]);
    } else {
      const failure = refusal(ask(effort), REASONER);
      expect(failure).toMatchObject({ type: 'invalid_request', status: 400 });
      expect(failure.param).toBe('reasoning_effort');
      expect(failure.message).toContain('none, low, medium, high, xhigh');
    }
  });

  it('is named where each format has it', () => {
    const asked = { reasoning: reasoning({ effort: 'max' }) } as const;
    const responses = {
      ...asked,
      dialect: 'responses',
      body: { reasoning: { effort: 'max' } },
    } as const;
    expect(refusal(responses, REASONER).param).toBe('reasoning.effort');
    const body = { thinking: { type: 'adaptive' }, output_config: { effort: 'max' } };
    expect(refusal({ ...asked, dialect: 'messages', body }, REASONER).param).toMatch(
      /thinking|effort/,
    );
  });

  it('of none is taken off for a model that does not reason, and others are refused', () => {
    const { request, turned } = ruled(ask('none'), PLAIN);
    expect(request.reasoning).toBeNull();
    expect(turned).toEqual(['reasoning']);
    expect(refusal(ask('low'), PLAIN).message).toContain('does not reason');
  });

  it.each([
    [1024, 'low'],
    [2047, 'low'],
    [2048, 'medium'],
    [5000, 'high'],
    [8192, 'xhigh'],
    [100_000, 'xhigh'],
    [10, 'low'],
  ] as const)('stands in for a budget of %i tokens as %s', (budget, effort) => {
    const asked = { dialect: 'messages', reasoning: reasoning({ budget }) } as const;
    const { request, turned } = ruled(asked, REASONER);
    expect(request.reasoning).toMatchObject({ budget, effort });
    // The client's own words stay where the upstream speaks the same.
    expect(turned).toEqual([]);
  });

  it('is the usual one where the alias only says that reasoning is on', () => {
    const alias = { body: { thinking: { type: 'enabled' } }, reasoning: reasoning({}) };
    const { request, turned } = ruled(alias, REASONER);
    expect(request.reasoning?.effort).toBe('medium');
    expect(turned).toEqual(['reasoning']);
    expect(refusal(alias, PLAIN).param).toBe('thinking');
  });
});

describe('limits', () => {
  it('of a model are those of its answers', () => {
    const model = { ...PLAIN, maxOutputTokens: 100 };
    expect(ruled({ maxOutputTokens: 100 }, model).turned).toEqual([]);
    const body = { max_tokens: 101 };
    const failure = refusal({ body, maxOutputTokens: 101 }, model);
    expect(failure.param).toBe('max_tokens');
    expect(failure.message).toContain('100');
  });

  it('of answers to one request is the one that OpenAI has', () => {
    expect(refusal({ n: 129 }, PLAIN).param).toBe('n');
    expect(ruled({ n: 128 }, PLAIN).request.n).toBe(128);
  });
});

describe('a model with fixed reasoning', () => {
  const text = (value: string): Part => ({ type: 'text', text: value, path: 'p' });
  const thought: Part = { type: 'reasoning', text: 'Hm.', proof: null, path: 'p' };

  it.each(['low', 'high', 'max'] as const)('takes the effort %s (rule 1)', (effort) => {
    const { request } = ruled({ reasoning: reasoning({ effort }) }, FIXED);
    expect(request.reasoning?.effort).toBe(effort);
  });

  it.each(['none', 'minimal', 'medium', 'xhigh'] as const)('refuses the effort %s', (effort) => {
    const body = { reasoning_effort: effort };
    const failure = refusal({ body, reasoning: reasoning({ effort }) }, FIXED);
    expect(failure).toMatchObject({ status: 400, param: 'reasoning_effort' });
  });

  it('calls the limit by its newer name, and has one of its own (rule 2)', () => {
    const { turned } = ruled({ body: { max_tokens: 9 }, maxOutputTokens: 9 }, FIXED);
    expect(turned).toContain('maxOutputTokens');
    expect(ruled({ maxOutputTokens: 1_048_576 }, FIXED).turned).toContain('maxOutputTokens');
    expect(refusal({ maxOutputTokens: 1_048_577 }, FIXED).param).toBe('max_completion_tokens');
    expect(ruled({}, FIXED).turned).toEqual([]);
  });

  it('has its sampling taken off, and answers once (rule 3)', () => {
    const sampling = { temperature: 0.3, topP: 0.5, frequencyPenalty: 1, presencePenalty: 0 };
    const { request, turned } = ruled({ ...sampling, n: 1, seed: 4 }, FIXED);
    expect(request).toMatchObject({
      temperature: null,
      topP: null,
      frequencyPenalty: null,
      presencePenalty: null,
      seed: 4,
    });
    expect(turned).toHaveLength(4);
    expect(refusal({ n: 2 }, FIXED)).toMatchObject({ status: 400, param: 'n' });
  });

  it('needs earlier answers whole (rule 5)', () => {
    const question = turn('user', [text('a')]);
    const whole = turn('assistant', [thought, text('b')], { path: 'messages[1]' });
    const bare = turn('assistant', [text('b')], { path: 'messages[1]' });
    expect(ruled({ turns: [question, whole, question] }, FIXED).turned).toEqual([]);
    expect(refusal({ turns: [question, bare, question] }, FIXED).param).toBe(
      'messages[1].reasoning_content',
    );
  });

  it('needs the calls that results answer (rule 5)', () => {
    const call: Part = { type: 'tool-call', id: 'c1', name: 'f', arguments: '{}', path: 'p' };
    const result = (callId: string): Part => ({
      type: 'tool-result',
      callId,
      content: [],
      isError: false,
      path: 'messages[2]',
    });
    const turns = (callId: string) => [
      turn('assistant', [thought, call]),
      turn('user', [result(callId)]),
    ];
    expect(ruled({ turns: turns('c1') }, FIXED).turned).toEqual([]);
    expect(refusal({ turns: turns('c2') }, FIXED).param).toBe('messages[2]');
  });

  it('goes on from a partial message only at the end (rule 6)', () => {
    const partial = turn('assistant', [text('b')], { partial: true, path: 'messages[0]' });
    expect(ruled({ turns: [turn('user', [text('a')]), partial] }, FIXED).turned).toEqual([]);
    expect(refusal({ turns: [partial, turn('user', [text('a')])] }, FIXED).param).toBe(
      'messages[0].partial',
    );
  });

  it('takes media by value and by file, not by address (rule 7)', () => {
    const image = (source: Extract<Part, { type: 'media' }>['source']): Part => ({
      type: 'media',
      media: 'image',
      source,
      detail: null,
      filename: null,
      path: 'messages[0].content[0].image_url.url',
    });
    const data = image({ kind: 'data', mediaType: 'image/png', data: 'AA==' });
    const file = image({ kind: 'file', id: 'ms://file' });
    expect(ruled({ turns: [turn('user', [data, file])] }, FIXED).turned).toEqual([]);
    const address = image({ kind: 'url', url: 'https://example.com/a.png' });
    expect(refusal({ turns: [turn('user', [address])] }, FIXED).param).toBe(
      'messages[0].content[0].image_url.url',
    );
  });

  it('takes the alias only when it turns reasoning on', () => {
    const on = { body: { thinking: { type: 'enabled' } }, reasoning: reasoning({}) };
    expect(ruled(on, FIXED).request.reasoning?.effort).toBe('high');
    const off = {
      body: { thinking: { type: 'disabled' } },
      reasoning: reasoning({ effort: 'none' }),
    };
    expect(refusal(off, FIXED).param).toBe('thinking');
  });
});
