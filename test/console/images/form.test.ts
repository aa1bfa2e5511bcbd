import { describe, expect, it } from 'vitest';
import { faultsOf } from '../../../src/console/components/form-field.ts';
import { fieldsOf, formFieldOf } from '../../../src/console/views/images/form.ts';
import {
  isShared,
  labelOf,
  type Operation,
  type OperationField,
  placeOf,
  sentFields,
  valuesOf,
} from '../../../src/console/views/images/operations.ts';

const field = (name: string, fields: Partial<OperationField> = {}): OperationField => ({
  ...{ name, type: 'string', required: false, repeatable: false, choices: null, minimum: null },
  ...{ maximum: null, default: null, sample: null, presets: null, description: name },
  expects: 'a text',
  ...fields,
});

const operation = (...fields: readonly OperationField[]): Operation => ({
  ...{
    name: 'test',
    endpoint: '/api/free/batch-test',
    summary: 'Test',
    gives: 'image',
    over: 'each',
    fields,
  },
});

const FORMAT = field('format', { choices: ['jpeg', 'png', 'jpg'], required: true, sample: 'png' });
const QUALITY = field('quality', { type: 'integer', minimum: 1, maximum: 100, sample: 80 });
const STRIP = field('strip', { repeatable: true, sample: ['gps'] });

describe('the field of a form for an option', () => {
  it.each([
    ['switch', { type: 'boolean' }],
    ['slider', { type: 'integer' }],
    ['slider', { type: 'number' }],
    ['file', { type: 'file' }],
    ['files', { type: 'file', repeatable: true }],
    ['list', { repeatable: true }],
    ['document', { presets: [] }],
    ['colour', { expects: 'a colour such as #ff8800' }],
    ['text', {}],
  ] as const)('is a %s for %j', (kind, fields) => {
    expect(formFieldOf(field('any', fields)).kind).toBe(kind);
  });

  it('lists the default first and aliases not at all', () => {
    const background = field('fit', { choices: ['inside', 'cover'], default: 'inside' });
    expect(formFieldOf(background).choices).toEqual([['', 'inside (default)'], 'cover']);
    expect(formFieldOf(FORMAT).choices).toEqual(['jpeg', 'png']);
  });

  it('has a slider only for a short range with a place to begin', () => {
    const sliderOf = (option: OperationField) => formFieldOf(option).slider;
    expect(sliderOf(QUALITY)).toEqual({ min: 1, max: 100, step: 1, rest: 80 });
    expect(sliderOf({ ...QUALITY, sample: null })).toBeNull();
    expect(sliderOf({ ...QUALITY, maximum: 65_535 })).toBeNull();
    const share = field('opacity', { type: 'number', minimum: 0, maximum: 1, default: 1 });
    expect(sliderOf(share)).toEqual({ min: 0, max: 1, step: 0.01, rest: 1 });
  });

  it('states limits, but not those that keep integers exact', () => {
    const left = field('left', { type: 'integer', minimum: 0, maximum: Number.MAX_SAFE_INTEGER });
    expect(formFieldOf(left)).toMatchObject({ min: 0, hint: 'Left; from 0.' });
    expect(formFieldOf(left)).not.toHaveProperty('max');
    expect(formFieldOf(QUALITY).hint).toBe('Quality; 1 to 100.');
    expect(formFieldOf(STRIP).hint).toBe('Strip; a text, one on each line.');
  });

  it('is named in words', () => {
    expect(['chromaSubsampling', 'targetSsim', 'edit-metadata', 'sha256'].map(labelOf)).toEqual([
      'Chroma subsampling',
      'Target SSIM',
      'Edit metadata',
      'SHA-256',
    ]);
  });
});

describe('the values of a form', () => {
  it('begin with the sample of a required field, or else with all samples', () => {
    const none = new URLSearchParams();
    expect(valuesOf(operation(FORMAT, QUALITY), none)).toEqual({ format: 'png', quality: '' });
    expect(valuesOf(operation(QUALITY, STRIP), none)).toEqual({ quality: '80', strip: 'gps' });
  });

  it('come back from the address, also one that the reader emptied', () => {
    const resize = operation(field('text', { sample: 'a' }), STRIP);
    for (const values of [
      { text: '', strip: 'gps\nexif' },
      { text: 'é & = # %', strip: '' },
    ]) {
      const query = new URLSearchParams(placeOf(resize, values).split('?')[1]);
      expect(valuesOf(resize, query)).toEqual(values);
    }
    expect(placeOf(operation(field('logo', { type: 'file' })), {})).toBe('images/test');
  });

  it('stay out of the address where they are too long for it', () => {
    const values = { recipe: 'x'.repeat(5000) };
    expect(isShared(values)).toBe(false);
    expect(placeOf(operation(field('recipe')), values)).toBe('images/test');
  });

  it('are sent without those that are empty, and lists without empty lines', () => {
    const values = { format: 'webp', quality: ' ', strip: 'gps\r\n\nexif\n' };
    expect(sentFields(operation(FORMAT, QUALITY, STRIP), values)).toEqual([
      ['format', 'webp'],
      ['strip', 'gps\nexif'],
    ]);
  });

  it('are refused by field', () => {
    const angle = field('angle', { type: 'number', minimum: -360, maximum: 360 });
    const fault = (of: OperationField, value: string) =>
      faultsOf([formFieldOf(of)], { [of.name]: value })[of.name];
    expect(fault(FORMAT, '')).toBe('Choose one.');
    expect(fault(field('recipe', { required: true }), ' ')).toBe('This field is required.');
    for (const value of ['0', '101', '1.5', 'many', '1e', '0x']) {
      expect(fault(QUALITY, value), value).toBe('Use a whole number from 1 to 100.');
    }
    expect(fault(QUALITY, ' 100 ')).toBeUndefined();
    expect(fault(angle, '-12.5')).toBeUndefined();
    expect(fault(angle, '-361')).toBe('Use a number from -360 to 360.');
  });

  it('are folded where most operations have them', () => {
    const common = field('metadata');
    const own = field('angle');
    const all = [
      operation(FORMAT, QUALITY, common),
      operation(QUALITY, common),
      operation(own, QUALITY, common),
    ];
    const fields = fieldsOf(all[2]!, all).map(({ name, isRare }) => [name, isRare]);
    expect(fields).toEqual([
      ['angle', false],
      ['quality', false],
      ['metadata', true],
    ]);
  });
});
