import type { Language } from '../terms.ts';

export const PORTUGUESE: Language = {
  code: 'pt',
  terms: {
    neutral:
      'olho nu, olhos nus, pés nus, pé nu, pés descalços, mãos nuas, braços nus, ' +
      'pernas nuas, árvore nua, árvores nuas, galhos nus, parede nua, paredes nuas, ' +
      'batom nude, cor nude, tom nude, tons nude, esmalte nude, salto nude, sapatos nude, ' +
      'maquiagem nude, rato toupeira nu, ratos toupeira nus, peito de frango, peito de peru, ' +
      'peito de pato, câncer de mama, cancro da mama, fundo do mar, fundo da página, ' +
      'educação sexual, mesmo sexo, do mesmo sexo, sexo do bebê, sexta, sexto, ' +
      'contra o abuso sexual, contra a violência sexual, menino jesus, verdade nua',
    minor:
      'criança, crianças, criancinha*, menino, meninos, meninas, menininha*, menininho*, ' +
      'garotinha*, garotinho*, menor de idade, menores de idade, bebezinho*, pré escolar*, ' +
      'escolares, aluno do primário, alunos do primário',
    youth:
      'menina, garota, garotas, garoto, garotos, adolescente*, ~bebê, bebês, bebés, ' +
      'rapariga*, mocinha*, ~filha, ~filhas, filho, filhos, neta, neto, sobrinha, sobrinho, ' +
      'recém nascid*',
    girl: 'menina*, garota*, garotinha*, ~filha',
    grown: 'adulta, adulto, adultos, adultas, maior de idade, maiores de idade',
    adult:
      'mulher, mulheres, homem, homens, senhora, mãe, ~pai, mamãe, papai, avó, avô, ' +
      'professora, professor, casal, ~pais',
    pronoun: '~ela, ~elas, ~ele, ~eles, dela, dele, ~sua, ~seu',
    private: 'pênis, pénis, genitais, vulva, testículos, partes íntimas, órgãos sexuais, púbis',
    area: 'seios, ~seio, nádegas, bumbum, peitos, mamilo*, decote, coxa, coxas, virilha, ~bunda',
    soft:
      '~peito, tronco, calcinha, calcinhas, roupa íntima, cueca, cuecas, sutiã, barriga, ' +
      'roupas íntimas',
    exposure:
      '~nu, ~nua, ~nus, ~nuas, exposto*, exposta*, descoberto*, descoberta*, à mostra, ' +
      'transparente*, abertas, de fora',
    emphasis:
      '~close, close up, primeiro plano, destaque, destacando, ênfase, ~foco, ~justa, ' +
      '~justas, grandes, visível, visíveis',
    nudity:
      '~nu, ~nua, ~nus, ~nuas, nudez, pelado*, pelada*, despido*, despida*, sem roupa, ' +
      'sem roupas, topless, nudista*, seminu*, seminua, desnud*',
    suggestive:
      'erótico*, erótica*, erotismo, sensual*, sedutor*, provocante*, lasciv*, lingerie, ' +
      'sugestiv*, insinuante*, de calcinha, em roupas íntimas',
    sexual:
      'sexo, sexual*, sexuais, porno*, pornográfic*, masturb*, orgasmo*, estupro, estuprad*, ' +
      'incesto, transando, transar, coito, fazer amor, fazendo amor',
    negation: '~sem, não, nenhuma, nenhum, nem, nunca, nada de',
    filler: '~de, conteúdo*, ~a, ~o, ~e, explícit*, cena*',
    either: 'ou, nem',
    medical:
      'médico*, médica, pediatra*, hospital, clínica, estetoscópio, radiografia, vacina*, ' +
      'enfermeira*, cirurg*',
    care: 'amament*, fralda*, trocador, assadura*, dando de mamar',
    newborn: 'recém nascid*, bebê',
    birth: 'nascimento, parto, parteira, pele a pele',
    art:
      'estátua*, escultura*, pintura*, mármore, bronze, afresco*, museu, quadro*, querub*, ' +
      'anjinho*',
    lesson: 'diagrama*, livro didático, biologia, cartaz',
    activity:
      'nadam*, nadar, natação, piscina, praia, mar, lago, rio, maiô*, sunga, ginasta*, balé, ' +
      'judô, boxe',
    apart: '~e, enquanto, perto, ao lado, atrás, olha*, desenh*, junto, observa*',
    evidence:
      '~uma, ~um, ~com, ~em, ~na, ~no, ~do, ~da, não, muito, são, está, anos, para, sobre, ' +
      'pela, pelo, às, brincando, observa, estão, enquanto',
  },
};
