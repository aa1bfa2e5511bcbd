import { expect, it } from 'vitest';
import { providerOf } from '../../../src/media/providers/providers.ts';

it.each(['openai', 'oriel', 'sandbox'] as const)('somebody makes media for %s', (kind) => {
  expect(Object.keys(providerOf(kind)).sort()).toEqual([
    'makeAudio',
    'makeImages',
    'makeVideo',
    'moderate',
  ]);
});

it('nobody makes media for anthropic', () => {
  expect(() => providerOf('anthropic')).toThrow('The provider makes no media');
});
