import fc from 'fast-check';
import { expect, it } from 'vitest';
import { Failure } from '../../../../src/failure.ts';
import type { Json } from '../../../../src/text/canonical/canonical.ts';
import { gemini } from '../../../../src/text/dialects/gemini/gemini.ts';
import { Inspection } from '../../../../src/text/dialects/inspection.ts';
import { allDialects } from '../../../../src/text/dialects/registry.ts';
import '../../../../src/text/built-in-dialects.ts';
import { runs } from '../../../runs.ts';
import { target } from '../../request.ts';

const odd = fc.oneof(fc.anything({ maxDepth: 2 }), fc.constantFrom(null, '', {}, []));
const either = <Value>(value: fc.Arbitrary<Value>) =>
  fc.oneof({ weight: 6, arbitrary: value }, odd);
const some = (fields: Record<string, fc.Arbitrary<unknown>>, ...requiredKeys: string[]) =>
  fc.record(fields, { requiredKeys });

const name = fc.constantFrom('f', 'get_weather', '2x', '_2x', 'a.b', 'toString');
const signature = fc.constantFrom('c2ln', 'b3JpZWw6', 'b3JpZWw6e30', 'oriel:e30', '');

const part = fc.oneof(
  some({ text: fc.string(), thought: fc.boolean(), thoughtSignature: signature }),
  some({
    functionCall: some({ id: fc.string(), name, args: either(fc.object({ maxDepth: 1 })) }, 'name'),
    thoughtSignature: signature,
  }),
  some({
    functionResponse: some(
      { id: fc.string(), name, response: either(fc.object({ maxDepth: 1 })) },
      'name',
      'response',
    ),
  }),
  some({ inlineData: some({ mimeType: fc.constantFrom('image/png', 'x'), data: fc.string() }) }),
  some({ fileData: some({ fileUri: fc.constantFrom('gs://a', 'https://a.example/a.png', 'x') }) }),
  some({ function_call: some({ name }), executableCode: odd, to_string: odd }),
);
const content = some(
  {
    role: fc.constantFrom('user', 'model', 'function'),
    parts: fc.array(either(part), { maxLength: 4 }),
  },
  'parts',
);
const body = some(
  {
    contents: fc.array(either(content), { maxLength: 4 }),
    system_instruction: either(content),
    tools: fc.array(
      some({
        functionDeclarations: fc.array(some({ name, parameters: odd, parametersJsonSchema: odd })),
        googleSearch: odd,
      }),
      { maxLength: 2 },
    ),
    toolConfig: some({
      functionCallingConfig: some({
        mode: fc.constantFrom('AUTO', 'ANY', 'NONE', 'VALIDATED'),
        allowedFunctionNames: fc.array(name),
      }),
    }),
    generationConfig: some({
      temperature: odd,
      responseMimeType: fc.constantFrom('application/json', 'text/plain', 'text/x.enum'),
      responseSchema: odd,
      responseJsonSchema: odd,
      responseModalities: odd,
      thinkingConfig: either(some({ thinkingBudget: fc.integer(), includeThoughts: fc.boolean() })),
    }),
    safetySettings: odd,
  },
  'contents',
);

/** The value of a function, or the failure that it throws; any other error is a defect. */
function attempt<Value>(run: () => Value): Value | Failure {
  try {
    return run();
  } catch (error) {
    if (error instanceof Failure && error.type === 'invalid_request') return error;
    throw error;
  }
}

it('any request is encoded for every upstream, or refused as invalid', () => {
  const upstreams = allDialects().filter(({ upstreamDialect }) => upstreamDialect === undefined);
  fc.assert(
    fc.property(body, fc.boolean(), (given, stream) => {
      const json = JSON.parse(JSON.stringify(given)) as Json;
      const request = attempt(() => gemini.decodeRequest(json, { model: 'm', stream }));
      if (request instanceof Failure) return;
      gemini.fields.check(request.body, new Inspection(), request.body);
      for (const { name: dialect } of upstreams) {
        const encoded = attempt(() => {
          const to = upstreams.find((one) => one.name === dialect)!;
          return to.encodeRequest(request, target(dialect));
        });
        if (!(encoded instanceof Failure)) expect(JSON.stringify(encoded)).not.toContain('oriel:');
      }
    }),
    { numRuns: runs(400) },
  );
});

it('sends none of the settings that a rule took away, also where no others are left', () => {
  const request = gemini.decodeRequest(
    { contents: [{ parts: [{ text: 'Hi' }] }], generationConfig: { temperature: 1 } },
    { model: 'm', stream: false },
  );
  const sent = gemini.encodeRequest({ ...request, temperature: null }, target('gemini'));
  expect(sent['generationConfig']).toEqual({});
});
