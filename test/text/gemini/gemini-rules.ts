/**
 * The rules of Google's public documents for requests of generateContent, as far as they lead to 400
 * INVALID_ARGUMENT.
 */

// biome-ignore lint/suspicious/noExplicitAny: JSON of an untrusted request
type Loose = any;

/** The shape of a message: a name for each field, with the shape of its value, or null for a plain one. */
interface Shape {
  readonly [name: string]: Shape | null;
}

const BLOB: Shape = { mimeType: null, data: null };
const FILE: Shape = { mimeType: null, fileUri: null };

const PART: Shape = {
  text: null,
  thought: null,
  thoughtSignature: null,
  inlineData: BLOB,
  fileData: FILE,
  functionCall: { id: null, name: null, args: null },
  functionResponse: {
    id: null,
    name: null,
    response: null,
    parts: { inlineData: BLOB, fileData: FILE },
  },
  executableCode: { language: null, code: null },
  codeExecutionResult: { outcome: null, output: null },
  toolCall: { toolType: null, args: null, id: null },
  toolResponse: { toolType: null, response: null, id: null },
};

const CONTENT: Shape = { role: null, parts: PART };

const REQUEST: Shape = {
  model: null,
  contents: CONTENT,
  systemInstruction: CONTENT,
  tools: {
    functionDeclarations: {
      name: null,
      description: null,
      parameters: null,
      parametersJsonSchema: null,
      response: null,
    },
    googleSearch: {},
    codeExecution: {},
    urlContext: {},
  },
  toolConfig: { functionCallingConfig: { mode: null, allowedFunctionNames: null } },
  safetySettings: { category: null, threshold: null },
  cachedContent: null,
  generationConfig: {
    temperature: null,
    topP: null,
    topK: null,
    candidateCount: null,
    maxOutputTokens: null,
    stopSequences: null,
    seed: null,
    presencePenalty: null,
    frequencyPenalty: null,
    responseLogprobs: null,
    logprobs: null,
    responseMimeType: null,
    responseSchema: null,
    responseJsonSchema: null,
    responseModalities: null,
    thinkingConfig: { includeThoughts: null, thinkingBudget: null, thinkingLevel: null },
  },
};

const SCHEMA_KEYWORDS = new Set(
  (
    '$schema $id $defs $ref $anchor type format title description enum items prefixItems minItems maxItems ' +
    'minimum maximum anyOf oneOf properties additionalProperties required propertyOrdering'
  ).split(' '),
);

const NAME = /^[A-Za-z_][A-Za-z0-9_.:-]{0,127}$/;

class Fault extends Error {}

function refuse(message: string): never {
  throw new Fault(message);
}

/** Why Google would refuse a schema; null for a valid one. */
export function schemaFault(schema: Loose): string | null {
  try {
    checkSchema(schema);
    return null;
  } catch (error) {
    return (error as Error).message;
  }
}

/** The body of the 400 that Google would answer a request with; null for a valid one. */
export function geminiFault(body: Loose, model: string): object | null {
  try {
    checkShape(body, REQUEST, 'request');
    checkContents(merged(body.contents), model);
    checkTools(body);
    checkConfig(body.generationConfig ?? {}, model);
    return null;
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return { error: { code: 400, message: error.message, status: 'INVALID_ARGUMENT' } };
  }
}

/** As `geminiFault`, for requests of countTokens. */
export function countFault(body: Loose, model: string): object | null {
  const { generateContentRequest: whole, ...own } = body;
  if (whole === undefined) return geminiFault(own, model);
  const { model: named, ...request } = whole;
  if (Object.keys(own).length === 0 && named === `models/${model}`) {
    return geminiFault(request, model);
  }
  const message = 'generateContentRequest: names another model, or other fields are set';
  return { error: { code: 400, message, status: 'INVALID_ARGUMENT' } };
}

/** As `geminiFault`, for requests of batchEmbedContents. */
export function embedFault({ requests, ...others }: Loose, model: string): object | null {
  const isRight =
    Object.keys(others).length === 0 &&
    Array.isArray(requests) &&
    requests.length > 0 &&
    requests.length <= 100 &&
    requests.every(
      ({
        model: named,
        content,
        outputDimensionality: size,
        taskType: _,
        title: __,
        ...rest
      }: Loose) =>
        named === `models/${model}` &&
        typeof content?.parts?.[0]?.text === 'string' &&
        (size === undefined || Number.isInteger(size)) &&
        Object.keys(rest).length === 0,
    );
  if (isRight) return null;
  return { error: { code: 400, message: 'Invalid requests.', status: 'INVALID_ARGUMENT' } };
}

function checkShape(value: Loose, shape: Shape, path: string): void {
  if (Array.isArray(value)) {
    for (const [index, one] of value.entries()) checkShape(one, shape, `${path}[${index}]`);
    return;
  }
  for (const [name, inner] of Object.entries(value)) {
    if (!(name in shape)) {
      refuse(
        `Invalid JSON payload received. Unknown name "${name}" at '${path}': Cannot find field.`,
      );
    }
    if (inner === null) refuse(`Invalid value at '${path}.${name}', null`);
    const expected = shape[name];
    if (expected) checkShape(inner, expected, `${path}.${name}`);
  }
}

/** Adjacent contents of one role are one turn: Google's SDK keeps each piece of a stream as a content. */
function merged(contents: Loose): Loose {
  if (!Array.isArray(contents)) return contents;
  const turns: Loose[] = [];
  for (const content of contents) {
    const last = turns.at(-1);
    if (last && last.role === content.role && Array.isArray(content.parts)) {
      last.parts.push(...content.parts);
    } else turns.push({ ...content, parts: content.parts && [...content.parts] });
  }
  return turns;
}

const DATA = [
  ...['text', 'inlineData', 'fileData', 'functionCall', 'functionResponse'],
  ...['executableCode', 'codeExecutionResult', 'toolCall', 'toolResponse'],
];

function checkContents(contents: Loose, model: string): void {
  if (!Array.isArray(contents) || contents.length === 0) {
    refuse('* GenerateContentRequest.contents: contents is not specified');
  }
  for (const [index, { role, parts }] of contents.entries()) {
    if (role !== 'user' && role !== 'model') {
      refuse('Please use a valid role: user, model.');
    }
    if (!parts?.length) {
      refuse(
        `* GenerateContentRequest.contents[${index}].parts: contents.parts must not be empty.`,
      );
    }
    for (const part of parts) {
      const data = DATA.filter((name) => name in part);
      if (data.length !== 1) refuse(`required oneof field 'data' must have one initialized field`);
      checkPart(part);
    }
    checkCalls(contents, index);
    if (role === 'model') checkSignatures(parts, index, model);
  }
  if (contents.at(-1).role !== 'user') {
    refuse('Please ensure that multiturn requests end with a user role or a function response.');
  }
}

function checkPart({ thoughtSignature, inlineData, fileData, functionCall }: Loose): void {
  const base64 = (value: string) => /^[A-Za-z0-9+/_-]*={0,2}$/.test(value);
  if (thoughtSignature !== undefined && !base64(thoughtSignature)) {
    refuse('Thought signature is not valid.');
  }
  if (inlineData && !(inlineData.mimeType && base64(inlineData.data))) {
    refuse('Provided media is not valid: inlineData requires mimeType and Base64');
  }
  if (fileData && !/youtu/.test(fileData.fileUri) && !fileData.mimeType) {
    refuse('fileData.mimeType is required');
  }
  if (functionCall && (typeof functionCall.args !== 'object' || Array.isArray(functionCall.args))) {
    refuse('Invalid value at function_call.args');
  }
}

const callsIn = (parts: Loose): Loose[] => parts.filter((part: Loose) => part.functionCall);
const responsesIn = (parts: Loose): Loose[] => parts.filter((part: Loose) => part.functionResponse);

function checkCalls(contents: Loose, index: number): void {
  const { role, parts } = contents[index];
  const calls = callsIn(contents[index - 1]?.parts ?? []).map((part) => part.functionCall);
  const responses = responsesIn(parts).map((part) => part.functionResponse);
  if (callsIn(parts).length > 0 && (role !== 'model' || index === 0)) {
    refuse(
      'Please ensure that function call turn comes immediately after a user turn or after a function ' +
        'response turn.',
    );
  }
  if (responses.length !== calls.length) {
    refuse(
      'Please ensure that the number of function response parts is equal to the number of function call ' +
        'parts of the function call turn.',
    );
  }
  for (const [number, { id, name, response }] of responses.entries()) {
    if (typeof response !== 'object') refuse('function_response.response must be an object');
    if (name !== calls[number].name) refuse('function_response.name: does not match its call');
    if (id !== calls[number].id) refuse('function_response.id: does not match its call');
  }
}

function checkSignatures(parts: Loose, index: number, model: string): void {
  const [first] = callsIn(parts);
  if (!first || /gemini-2/.test(model) || first.thoughtSignature) return;
  refuse(
    'Function call is missing a thought_signature in functionCall parts. This is required for tools to ' +
      `work correctly. Additional data, function call ${first.functionCall.name}, position ${index}.`,
  );
}

function checkTools({ tools, toolConfig }: Loose): void {
  const declared = (tools ?? []).flatMap((tool: Loose) => tool.functionDeclarations ?? []);
  for (const { name, parameters, parametersJsonSchema } of declared) {
    if (!NAME.test(name)) refuse(`Invalid function name: ${name}`);
    if (parameters && parametersJsonSchema)
      refuse('parameters and parametersJsonSchema are both set');
    if (parametersJsonSchema) checkSchema(parametersJsonSchema);
  }
  const { mode = 'AUTO', allowedFunctionNames } = toolConfig?.functionCallingConfig ?? {};
  if (!['AUTO', 'ANY', 'NONE', 'VALIDATED'].includes(mode)) refuse(`Invalid value: ${mode}`);
  if (mode !== 'AUTO' && declared.length === 0) {
    refuse('Function calling config is set without function_declarations.');
  }
  if (!allowedFunctionNames) return;
  if (mode !== 'ANY' && mode !== 'VALIDATED') {
    refuse('allowed_function_names should only be set when the mode is ANY or VALIDATED.');
  }
  const names = declared.map(({ name }: Loose) => name);
  for (const name of allowedFunctionNames) {
    if (!names.includes(name)) refuse(`allowed_function_names: ${name} is not declared`);
  }
}

function checkSchema(schema: Loose): void {
  if (typeof schema !== 'object' || schema === null) return;
  for (const [keyword, value] of Object.entries(schema)) {
    if (!SCHEMA_KEYWORDS.has(keyword)) refuse(`Unknown name "${keyword}" in schema`);
    if (keyword === 'properties' || keyword === '$defs') {
      for (const one of Object.values(value as object)) checkSchema(one);
    } else if (['items', 'additionalProperties'].includes(keyword)) checkSchema(value);
    else if (['anyOf', 'oneOf', 'prefixItems'].includes(keyword)) {
      for (const one of value as Loose[]) checkSchema(one);
    } else if (keyword === 'enum') {
      const isValid = (one: unknown) => typeof one === 'string' || typeof one === 'number';
      if (!(value as Loose[]).every((one) => isValid(one) || one === null)) {
        refuse('enum: only texts and numbers are supported');
      }
    }
    if (keyword === '$ref' && Object.keys(schema).some((name) => !name.startsWith('$'))) {
      refuse('$ref: no other properties may be set');
    }
  }
}

function checkConfig(config: Loose, model: string): void {
  const { stopSequences, temperature, responseJsonSchema, responseMimeType, seed } = config;
  if (stopSequences?.length > 5) refuse('stop_sequences: at most 5');
  if (temperature < 0 || temperature > 2) refuse('temperature must be in the range [0.0, 2.0].');
  if (seed !== undefined && seed !== (seed | 0))
    refuse(`Invalid value at seed (TYPE_INT32), ${seed}`);
  if (responseJsonSchema) {
    checkSchema(responseJsonSchema);
    if (responseMimeType !== 'application/json') {
      refuse('response_json_schema: requires response_mime_type application/json');
    }
  }
  if (config.logprobs !== undefined && config.responseLogprobs !== true) {
    refuse('logprobs is set without response_logprobs');
  }
  const { thinkingBudget, thinkingLevel } = config.thinkingConfig ?? {};
  if (thinkingBudget !== undefined && thinkingLevel !== undefined) {
    refuse('You can only set only one of thinking budget and thinking level.');
  }
  if (thinkingLevel === undefined) return;
  if (/gemini-2/.test(model)) refuse('Thinking level is not supported for this model.');
  if (!['MINIMAL', 'LOW', 'MEDIUM', 'HIGH'].includes(thinkingLevel)) {
    refuse(`Invalid value at thinking_level: ${thinkingLevel}`);
  }
}
