import { describe, expect, it } from 'vitest';
import type { TextModel } from '../../../src/config/catalog/catalog.ts';
import { EFFORTS, type Effort } from '../../../src/config/settings/models.ts';
import type { MediaSource, TextRequest } from '../../../src/text/canonical/canonical.ts';
import { applyRules } from '../../../src/text/stages/apply-model-rules.ts';
import {
  called,
  dataOf,
  fileOf,
  media,
  reasoning,
  result,
  thought,
  urlOf,
  words,
} from '../parts.ts';
import { failureOf, textRequest, turn } from '../request.ts';

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

const applied = (request: Partial<TextRequest>, model: TextModel) =>
  applyRules(textRequest(request), 'some-model', model, 16_384);

const refusal = (request: Partial<TextRequest>, model: TextModel) =>
  failureOf(() => applied(request, model));

describe('reasoning effort', () => {
  const ask = (effort: Effort): Partial<TextRequest> => ({
    body: { reasoning_effort: effort },
    reasoning: reasoning(effort),
  });

  it.each(EFFORTS)(
    '%s is accepted if supported_efforts has it, else refused naming the field',
    (effort) => {
      const supported = REASONER.reasoning!.supported_efforts;
      if (supported.includes(effort)) {
        const { request, changedSettings } = applied(ask(effort), REASONER);
        expect(request.reasoning?.effort).toBe(effort);
        expect(changedSettings).toEqual([]);
      } else {
        const failure = refusal(ask(effort), REASONER);
        expect(failure).toMatchObject({ type: 'invalid_request', status: 400 });
        expect(failure.param).toBe('reasoning_effort');
        expect(failure.message).toContain('none, low, medium, high, xhigh');
      }
    },
  );

  it('is refused by the path of the field in each format', () => {
    const asked = { reasoning: reasoning('max') } as const;
    const strict = { ...REASONER, onUnsupported: 'refuse' } as const;
    const responses = {
      ...asked,
      dialect: 'responses',
      body: { reasoning: { effort: 'max' } },
    } as const;
    expect(refusal(responses, strict).param).toBe('reasoning.effort');
    const body = { thinking: { type: 'adaptive' }, output_config: { effort: 'max' } };
    expect(refusal({ ...asked, dialect: 'messages', body }, strict).param).toMatch(
      /thinking|effort/,
    );
  });

  it.each([
    ['responses', { reasoning: { effort: 'max' } }, 'max', 'xhigh', 'reasoning.effort'],
    ['responses', { reasoning: { effort: 'minimal' } }, 'minimal', 'low', 'reasoning.effort'],
    ['messages', { output_config: { effort: 'max' } }, 'max', 'xhigh', 'output_config.effort'],
  ] as const)('of %s %j becomes the nearest one that the model supports', (...asked) => {
    const [dialect, body, effort, nearest, path] = asked;
    const { request, changedSettings, clamped } = applied(
      { dialect, body, reasoning: reasoning(effort) },
      REASONER,
    );
    expect(request.reasoning?.effort).toBe(nearest);
    expect(changedSettings).toEqual(['reasoning']);
    expect(clamped).toEqual([path]);
  });

  it('of chat completions is lowered only where the operator says so', () => {
    const { request, clamped } = applied(ask('max'), {
      ...REASONER,
      onUnsupported: ['reasoning_effort'],
    });
    expect(request.reasoning?.effort).toBe('xhigh');
    expect(clamped).toEqual(['reasoning_effort']);
  });

  it('is removed for a model without reasoning, as Claude Code asks of every model', () => {
    const body = { thinking: { type: 'enabled', budget_tokens: 31_999 } };
    const asked = { dialect: 'messages', body, reasoning: reasoning(null, 31_999) } as const;
    const { request, changedSettings, clamped } = applied(asked, PLAIN);
    expect(request.reasoning).toBeNull();
    expect(changedSettings).toEqual(['reasoning']);
    expect(clamped).toEqual(['thinking']);
    expect(refusal(asked, { ...PLAIN, onUnsupported: 'refuse' }).message).toContain('not reason');
  });

  it('none is removed for a model without reasoning, others are refused', () => {
    const { request, changedSettings } = applied(ask('none'), PLAIN);
    expect(request.reasoning).toBeNull();
    expect(changedSettings).toEqual(['reasoning']);
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
  ] as const)('for a budget of %i tokens is %s', (budget, effort) => {
    const asked = { dialect: 'messages', reasoning: reasoning(null, budget) } as const;
    const { request, changedSettings } = applied(asked, REASONER);
    expect(request.reasoning).toMatchObject({ budget, effort });
    // An upstream of the same format gets the client's budget unchanged.
    expect(changedSettings).toEqual([]);
  });

  it('is the default effort for thinking: enabled without a budget', () => {
    const alias = { body: { thinking: { type: 'enabled' } }, reasoning: reasoning(null) };
    const { request, changedSettings } = applied(alias, REASONER);
    expect(request.reasoning?.effort).toBe('medium');
    expect(changedSettings).toEqual(['reasoning']);
    expect(refusal(alias, PLAIN).param).toBe('thinking');
  });
});

describe('request limits', () => {
  it.each([
    [16_000, 11_904],
    [4096, 2048],
    [1500, null],
  ])('of %i tokens leave room for the answer beside a budget: %j', (limit, budget) => {
    const body = { max_tokens: 32_000, thinking: { type: 'enabled', budget_tokens: 31_999 } };
    const { request, clamped } = applied(
      {
        dialect: 'messages',
        body,
        maxOutputTokens: 32_000,
        reasoning: reasoning(null, 31_999),
      },
      { ...REASONER, maxOutputTokens: limit },
    );
    expect(request.maxOutputTokens).toBe(limit);
    expect(request.reasoning?.budget ?? null).toBe(budget);
    expect(clamped).toEqual(['max_tokens', 'thinking']);
  });

  it('clamp output tokens, or refuse more than the model has', () => {
    const lenient = { ...PLAIN, maxOutputTokens: 100 };
    const clamped = applied({ body: { max_tokens: 101 }, maxOutputTokens: 101 }, lenient);
    expect(clamped).toMatchObject({
      request: { maxOutputTokens: 100 },
      changedSettings: ['maxOutputTokens'],
      clamped: ['max_tokens'],
    });
    const model = { ...lenient, onUnsupported: 'refuse' } as const;
    expect(applied({ maxOutputTokens: 100 }, model).changedSettings).toEqual([]);
    const body = { max_tokens: 101 };
    const failure = refusal({ body, maxOutputTokens: 101 }, model);
    expect(failure.param).toBe('max_tokens');
    expect(failure.message).toContain('100');
  });

  it('refuse n above 128, the limit of OpenAI', () => {
    expect(refusal({ n: 129 }, PLAIN).param).toBe('n');
    expect(applied({ n: 128 }, PLAIN).request.n).toBe(128);
  });
});

describe('a model with fixed reasoning', () => {
  it.each(['low', 'high', 'max'] as const)('accepts the effort %s (rule 1)', (effort) => {
    const { request } = applied({ reasoning: reasoning(effort) }, FIXED);
    expect(request.reasoning?.effort).toBe(effort);
  });

  it.each(['none', 'minimal', 'medium', 'xhigh'] as const)('refuses the effort %s', (effort) => {
    const body = { reasoning_effort: effort };
    const failure = refusal({ body, reasoning: reasoning(effort) }, FIXED);
    expect(failure).toMatchObject({ status: 400, param: 'reasoning_effort' });
  });

  it('renames max_tokens to max_completion_tokens, up to 1,048,576 (rule 2)', () => {
    const { changedSettings } = applied({ body: { max_tokens: 9 }, maxOutputTokens: 9 }, FIXED);
    expect(changedSettings).toContain('maxOutputTokens');
    expect(applied({ maxOutputTokens: 1_048_576 }, FIXED).changedSettings).toContain(
      'maxOutputTokens',
    );
    expect(refusal({ maxOutputTokens: 1_048_577 }, FIXED).param).toBe('max_completion_tokens');
    expect(applied({}, FIXED).changedSettings).toEqual([]);
  });

  it('drops sampling settings and refuses n above 1 (rule 3)', () => {
    const sampling = { temperature: 0.3, topP: 0.5, frequencyPenalty: 1, presencePenalty: 0 };
    const { request, changedSettings } = applied({ ...sampling, n: 1, seed: 4 }, FIXED);
    expect(request).toMatchObject({
      temperature: null,
      topP: null,
      frequencyPenalty: null,
      presencePenalty: null,
      seed: 4,
    });
    expect(changedSettings).toHaveLength(4);
    expect(refusal({ n: 2 }, FIXED)).toMatchObject({ status: 400, param: 'n' });
  });

  const QUESTION = turn('user', [words('a')]);
  const WHOLE = turn('assistant', [thought(null), words('b')]);
  const BARE = turn('assistant', [words('b')], { path: 'messages[1]' });
  const PARTIAL = turn('assistant', [words('b')], { partial: true });
  const resultOf = (callId: string) => [
    turn('assistant', [thought(null), called('c1')]),
    turn('user', [{ ...result(callId), path: 'messages[2]' }]),
  ];
  const image = (source: MediaSource) => turn('user', [media(source)]);

  it.each([
    [
      'earlier answers without their reasoning (rule 5)',
      [QUESTION, WHOLE, QUESTION],
      [QUESTION, BARE, QUESTION],
      'messages[1].reasoning_content',
    ],
    ['tool results without their calls (rule 5)', resultOf('c1'), resultOf('c2'), 'messages[2]'],
    [
      'a partial message before another (rule 6)',
      [QUESTION, PARTIAL],
      [PARTIAL, QUESTION],
      'messages[0].partial',
    ],
    [
      'addresses of media, not data and file ids (rule 7)',
      [image(dataOf('image/png')), image(fileOf('ms://file'))],
      [image(urlOf('https://example.com/a.png'))],
      'p',
    ],
  ])('refuses %s', (_, accepted, refused, param) => {
    expect(applied({ turns: accepted }, FIXED).changedSettings).toEqual([]);
    expect(refusal({ turns: refused }, FIXED).param).toBe(param);
  });

  it('refuses thinking: disabled', () => {
    const on = { body: { thinking: { type: 'enabled' } }, reasoning: reasoning(null) };
    expect(applied(on, FIXED).request.reasoning?.effort).toBe('high');
    const off = {
      body: { thinking: { type: 'disabled' } },
      reasoning: reasoning('none'),
    };
    expect(refusal(off, FIXED).param).toBe('thinking');
  });
});
