import type { Language } from '../terms.ts';

export const ITALIAN: Language = {
  code: 'it',
  terms: {
    neutral:
      'occhio nudo, piedi nudi, piede nudo, mani nude, braccia nude, gambe nude, ' +
      'spalle nude, albero nudo, alberi nudi, rami nudi, parete nuda, pareti nude, ' +
      'rossetto nude, color nude, colore nude, toni nude, smalto nude, tacchi nude, ' +
      'trucco nude, ratto talpa nudo, eterocefal*, petto di pollo, petto di tacchino, ' +
      'petto d anatra, tumore al seno, cancro al seno, in seno, fondo del mare, ' +
      'fondo della pagina, educazione sessuale, stesso sesso, dello stesso sesso, ' +
      'sesso del bambino, sesso del neonato, sesto, sesta, contro gli abusi sessuali, ' +
      'contro la violenza sessuale, gesù bambino, nuda verità, nuda proprietà',
    minor:
      'bambino, bambina, bambini, bambine, ~bimbo, bimba, bimbi, bimbe, minorenne*, ' +
      'minorenni, fanciull*, scolaro, scolara, scolari, asilo nido, poppante*, ~infante, ' +
      'alunno delle elementari, ragazzino, ragazzina, ragazzini, ragazzine, piccola bambina',
    youth:
      'ragazza, ragazze, ragazzo, ragazzi, adolescente, adolescenti, neonat*, ~figlia, ' +
      'figlie, ~figlio, ~figli, nipotin*, nipote, alunn*, liceale, liceali, quindicenne*, ' +
      'sedicenne*',
    girl: 'bambina, bambine, ragazza, ragazze, ragazzina, bimba, ~figlia',
    grown: 'adulta, adulto, adulti, adulte, maggiorenne*, maggiorenni, ventenne, trentenne',
    adult:
      'donna, donne, uomo, uomini, signora, signore, madre, padre, mamma, papà, nonna, ' +
      'nonno, maestra, maestro, coppia, genitori, sposa',
    pronoun: '~lei, ~lui, ~loro, ~sua, ~suo, ~suoi',
    private: '~pene, genitali, vagina, vulva, testicoli, parti intime, organi sessuali, pube',
    area:
      '~seno, ~seni, natiche, sedere, tette, capezzol*, scollatura, coscia, cosce, inguine, ' +
      'culo, glutei',
    soft:
      '~petto, torso, mutandine, mutande, biancheria intima, reggiseno, perizoma, ~slip, ' +
      'pancia',
    exposure:
      'nudo, nuda, nudi, ~nude, espost*, scopert*, in vista, trasparent*, scosciat*, ' + '~aperte',
    emphasis:
      'primo piano, primissimo piano, enfasi, risalto, mettendo in risalto, attillat*, ' +
      'aderent*, ~grossi, visibile, visibili',
    nudity:
      'nudo, nuda, nudi, nudità, svestit*, spogliat*, senza vestiti, senza abiti, topless, ' +
      'nudist*, seminud*, ignud*, denudat*, spogliandosi',
    suggestive:
      'erotic*, erotismo, sensual*, seducent*, provocant*, lasciv*, lingerie, sexy, ' +
      'ammiccant*, in mutande, in mutandine, in biancheria intima, in perizoma',
    sexual:
      'sesso, sessual*, porno*, masturb*, orgasm*, stupr*, incesto, scopare, coito, ' +
      'fare l amore',
    negation: 'senza, ~non, nessun, nessuna, niente, ~né, ~mai',
    filler: '~di, contenut*, ~il, ~la, ~e, esplicit*, scen*',
    either: '~o, ~né',
    medical:
      'medico, pediatra*, ospedale, clinica, stetoscopio, radiografia, vaccin*, infermier*, ' +
      'chirurg*',
    care: 'allatt*, pannolin*, fasciatoio, eritema',
    newborn: 'neonat*',
    birth: 'nascita, ~parto, ostetrica, pelle a pelle',
    art:
      'statua, statue, scultur*, dipint*, marmo, bronzo, affresco, affreschi, museo, quadro, ' +
      'quadri, putti, putto, cherubin*',
    lesson: 'diagramma*, libro di testo, biologia, poster',
    activity:
      'nuot*, piscina, spiaggia, mare, lago, fiume, costume da bagno, costumi da bagno, ' +
      'ginnast*, danza, balletto, judo, pugilato, ~lotta',
    apart: '~e, mentre, accanto, vicino, dietro, davanti, guard*, disegn*, osserva*',
    evidence:
      '~una, ~un, ~il, ~con, ~nel, nella, della, ~del, ~che, ~per, gli, ~di, anni, sono, ' +
      'sulla, molto, ~è, dalla, sulle, negli',
  },
};
