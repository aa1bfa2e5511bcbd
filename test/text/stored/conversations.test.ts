import { expect, it } from 'vitest';
import { StoredResponses } from '../../../src/text/stored/stored-responses.ts';
