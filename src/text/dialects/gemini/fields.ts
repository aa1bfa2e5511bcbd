import { isObject } from '../../../schema/untrusted.ts';
import type { SettingNames } from '../dialect.ts';
import {
  advice,
  type Fields,
  FieldTable,
  gated,
  hint,
  meaning,
  named,
  native,
  object,
  read,
  untranslated,
  values,
} from '../fields.ts';
import { type Check, feature, reference } from '../inspection.ts';
import { isStoredFile } from './decode-turns.ts';

/** A file of an account at Google, or an address that Google reads. */
const fileUri: Check = (value, found) => {
  if (typeof value !== 'string') return;
  if (isStoredFile(value)) found.use('file_id', value);
  else found.address(value);
};

const media = {
  inlineData: meaning('Base64.', { check: object(read('mimeType', 'data', 'displayName')) }),
  fileData: meaning('A file by its address.', {
    check: object({
      ...read('mimeType', 'displayName'),
      fileUri: meaning('Address or stored file.', { check: fileUri }),
    }),
  }),
  ...named(
    native('How the media are read.'),
    'mediaProcessing',
    'mediaResolution',
    'videoMetadata',
  ),
};

const ran = (check: Check) => native('What Google ran for an earlier answer.', { check });

/** Google's tool that an earlier answer called. */
const toolType: Check = (value, found) => {
  const type = isObject(value) ? String(value['toolType']) : '';
  if (type.startsWith('URL')) found.use('web_fetch');
  else found.use(type.startsWith('FILE') ? 'file_search' : 'web_search');
};

/** Properties of which a part has one. */
const KINDS = [
  ...['text', 'inlineData', 'fileData', 'functionCall', 'functionResponse'],
  ...['executableCode', 'codeExecutionResult', 'toolCall', 'toolResponse'],
];

const partFields: Fields = {
  ...media,
  ...read('text', 'thought', 'thoughtSignature', 'partMetadata'),
  functionCall: meaning('A tool call.', { check: object(read('id', 'name', 'args')) }),
  functionResponse: meaning('The result of a tool call.', {
    check: object({
      ...read('id', 'name', 'response'),
      ...named(native('Further results of the call.'), 'scheduling', 'willContinue'),
      parts: meaning('Media of the result.', { items: object(media) }),
    }),
  }),
  ...named(ran(feature('code_interpreter')), 'executableCode', 'codeExecutionResult'),
  ...named(ran(toolType), 'toolCall', 'toolResponse'),
};

const parts = new FieldTable(partFields, (part) => !KINDS.some((name) => name in part)).check;

const content = object({
  role: meaning('Author of the message.'),
  parts: meaning('Parts.', { items: parts }),
});

const modalities: Check = (value, found) => {
  for (const one of Array.isArray(value) ? value : []) {
    if (one === 'IMAGE') found.use('image_generation');
    else if (one !== 'TEXT') found.use('audio');
  }
};

const textOnly = {
  words: '["TEXT"]',
  test: (value: unknown) => Array.isArray(value) && value.every((one) => one === 'TEXT'),
};

export const configFields = new FieldTable({
  temperature: hint('Sampling temperature.'),
  topP: hint('Nucleus sampling.', { neutral: values(1) }),
  topK: hint('Number of most likely tokens to choose from.'),
  maxOutputTokens: meaning('Maximum output tokens.'),
  stopSequences: meaning('Stop sequences.'),
  candidateCount: meaning('Number of answers.', { neutral: values(1) }),
  seed: hint('Seed of the sampling.'),
  ...named(
    hint('Penalty for repeated tokens.', { neutral: values(0) }),
    'frequencyPenalty',
    'presencePenalty',
  ),
  responseLogprobs: meaning('Whether to return log probabilities.', { neutral: values(false) }),
  logprobs: meaning('Number of alternatives with log probabilities.', { neutral: values(0) }),
  ...named(meaning('JSON Schema of the output.'), 'responseSchema', 'responseJsonSchema'),
  responseMimeType: native('Format of the output.', {
    neutral: values('text/plain', 'application/json'),
  }),
  responseFormat: untranslated('Format of the output.'),
  thinkingConfig: meaning('How much the model reasons.', {
    check: object(read('includeThoughts', 'thinkingBudget', 'thinkingLevel')),
  }),
  mediaResolution: untranslated('Resolution at which media are read.'),
  enableEnhancedCivicAnswers: native('Answers about civic matters.', { neutral: values(false) }),
  responseModalities: untranslated('Kinds of output.', { check: modalities, neutral: textOnly }),
  imageConfig: untranslated('Images of the output.', { feature: 'image_generation' }),
  speechConfig: untranslated('Voice of the output.', { feature: 'audio' }),
});

export const toolConfigFields = new FieldTable({
  functionCallingConfig: meaning('Which tools the model must call.'),
  includeServerSideToolInvocations: native('Whether the answer shows calls of hosted tools.', {
    neutral: values(false),
  }),
  retrievalConfig: native('Where the client is.'),
});

const declarations = object(
  read(
    'name',
    'description',
    'parameters',
    'parametersJsonSchema',
    'response',
    'responseJsonSchema',
  ),
);

const hosted = (check: Check) => untranslated('A tool that Google runs.', { check });

const tool = new FieldTable(
  {
    functionDeclarations: meaning('Functions.', { items: declarations }),
    googleSearch: hosted(feature('web_search')),
    googleSearchRetrieval: hosted(feature('web_search')),
    googleMaps: hosted(feature('web_search')),
    urlContext: hosted(feature('web_fetch')),
    codeExecution: hosted(feature('code_interpreter')),
    computerUse: hosted(feature('computer_use')),
    fileSearch: hosted(
      gated(
        feature('file_search'),
        object({
          fileSearchStoreNames: native('Stored files.', { check: reference('vector_store_ids') }),
        }),
      ),
    ),
    mcpServers: hosted(feature('mcp')),
  },
  // Each property with settings is a tool.
  (value, name) => isObject(value[name]),
).check;

/** The fields of a gemini request. */
export const fields = new FieldTable({
  contents: meaning('The conversation so far.', { items: content }),
  systemInstruction: meaning('Instructions.', { check: content }),
  tools: meaning('Tools that the model may call.', {
    items: tool,
  }),
  toolConfig: meaning('Which tools the model must call.', { check: toolConfigFields.check }),
  generationConfig: meaning('Settings of the answer.', { check: configFields.check }),
  labels: advice('Labels of the request.'),
  model: advice('The model, which the address names.'),
  safetySettings: advice('Thresholds of the filters of Google.'),
  cachedContent: native('A prompt that Google stores.', {
    kept: 'content',
    check: reference('file_id'),
  }),
  serviceTier: advice('Priority and price of the request.', {
    feature: 'service_tier',
    neutral: values('standard'),
  }),
  store: advice('Whether Google may store the answer.', {
    feature: 'conversation',
    neutral: values(false),
  }),
});

export const settings: SettingNames = {
  toolChoice: ['toolConfig.functionCallingConfig'],
  maxOutputTokens: ['generationConfig.maxOutputTokens'],
  temperature: ['generationConfig.temperature'],
  topP: ['generationConfig.topP'],
  topK: ['generationConfig.topK'],
  stop: ['generationConfig.stopSequences'],
  n: ['generationConfig.candidateCount'],
  frequencyPenalty: ['generationConfig.frequencyPenalty'],
  presencePenalty: ['generationConfig.presencePenalty'],
  seed: ['generationConfig.seed'],
  logprobs: ['generationConfig.responseLogprobs'],
  topLogprobs: ['generationConfig.logprobs'],
  format: ['generationConfig.responseJsonSchema', 'generationConfig.responseMimeType'],
  reasoning: ['generationConfig.thinkingConfig'],
};
