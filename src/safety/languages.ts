import { ARABIC } from './languages/arabic.ts';
import { CHINESE } from './languages/chinese.ts';
import { DUTCH } from './languages/dutch.ts';
import { ENGLISH } from './languages/english.ts';
import { FRENCH } from './languages/french.ts';
import { GERMAN } from './languages/german.ts';
import { HINDI } from './languages/hindi.ts';
import { INDONESIAN } from './languages/indonesian.ts';
import { ITALIAN } from './languages/italian.ts';
import { JAPANESE } from './languages/japanese.ts';
import { KOREAN } from './languages/korean.ts';
import { POLISH } from './languages/polish.ts';
import { PORTUGUESE } from './languages/portuguese.ts';
import { RUSSIAN } from './languages/russian.ts';
import { SPANISH } from './languages/spanish.ts';
import { TURKISH } from './languages/turkish.ts';
import { UKRAINIAN } from './languages/ukrainian.ts';
import { VIETNAMESE } from './languages/vietnamese.ts';
import type { Language } from './terms.ts';

/** Every language that the rules read. */
export const LANGUAGES: readonly Language[] = [
  ENGLISH,
  GERMAN,
  FRENCH,
  SPANISH,
  PORTUGUESE,
  ITALIAN,
  POLISH,
  DUTCH,
  TURKISH,
  RUSSIAN,
  UKRAINIAN,
  CHINESE,
  JAPANESE,
  KOREAN,
  HINDI,
  ARABIC,
  INDONESIAN,
  VIETNAMESE,
];
